/** The door: a server with a token asks for it once and gives a cookie; the token itself is not kept. */

import { byId, el, setText } from "../dom";
import { type Api, ApiError } from "../net/api";

export class Gate {
  private readonly page = byId<HTMLElement>("gate");
  private readonly input = el("input", {
    type: "password",
    "aria-label": "Token",
    autocomplete: "off",
    placeholder: "Token",
    required: true,
  });
  private readonly problem = el("p", { class: "problem", role: "alert" });
  private enter: () => void = () => undefined;

  constructor(private readonly api: Api) {
    const form = el(
      "form",
      { class: "card" },
      el("h1", {}, "lastseen"),
      el("p", {}, "This memory is protected. Enter the server's token: it printed one when it was started, or it is the first line of its token file."),
      this.input,
      el("button", { type: "submit", class: "primary" }, "Open the memory"),
      this.problem,
    );
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      void this.tryToken(this.input.value.trim());
    });
    this.page.append(form);
  }

  /** Wait until the server lets this page in; a token in the address is used once and taken out of it. */
  async pass(): Promise<void> {
    const given = new URLSearchParams(location.hash.slice(1)).get("token");
    if (given !== null) history.replaceState(null, "", location.pathname + location.search);
    const session = await this.api.session().catch(() => null);
    if (!session || !session.required || session.authenticated) return; // an absent server is told by the status
    await new Promise<void>((enter) => {
      this.enter = enter;
      this.page.hidden = false;
      if (given !== null) void this.tryToken(given);
      else this.input.focus();
    });
    this.page.hidden = true;
  }

  private async tryToken(token: string): Promise<void> {
    setText(this.problem, "");
    if (!token) return;
    try {
      await this.api.logIn(token);
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      setText(this.problem, error.status === 401 ? "This token is not the server's. Check it and try again." : error.message);
      this.input.select();
      return;
    }
    this.input.value = "";
    this.enter();
  }
}
