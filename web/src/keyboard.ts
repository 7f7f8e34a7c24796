/** Keys that work anywhere; while one types, only Escape does. */

export interface Shortcut {
  readonly key: string;
  readonly does: string;
  readonly run: () => void;
}

export function listenToKeys(shortcuts: readonly Shortcut[], escape: () => void): void {
  const byKey = new Map(shortcuts.map((shortcut) => [shortcut.key, shortcut.run]));
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "Escape") {
      escape();
      return;
    }
    const target = event.target as HTMLElement;
    if (target.matches("select, textarea, input:not([type=range], [type=checkbox])")) return;
    const run = byKey.get(event.key.length === 1 ? event.key.toLowerCase() : event.key);
    if (!run) return;
    event.preventDefault();
    run();
  });
}
