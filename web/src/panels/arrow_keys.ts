/** Arrow keys, Home, End and Enter in a list: one tab stop per list, as people with a keyboard expect. */

export function arrowKeys(list: HTMLElement): void {
  list.addEventListener("keydown", (event) => {
    const items = [...list.children].filter((item): item is HTMLElement => item instanceof HTMLElement && item.tabIndex >= -1);
    const at = items.indexOf(document.activeElement as HTMLElement);
    const goal = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: items.length - 1 }[event.key];
    if (goal !== undefined) {
      const item = items[Math.min(Math.max(goal, 0), items.length - 1)];
      if (!item) return;
      for (const other of items) other.tabIndex = other === item ? 0 : -1;
      item.focus();
      event.preventDefault();
    } else if ((event.key === "Enter" || event.key === " ") && at >= 0) {
      items[at]?.click();
      event.preventDefault();
    }
  });
}
