/** Asks for a key or token where the service needs one. */
import { useState } from "preact/hooks";
import { giveCredential } from "./credential";

export function KeyForm({ why }: { why: string }) {
  const [typed, setTyped] = useState("");
  const [given, setGiven] = useState(false);
  const give = (event: Event) => {
    event.preventDefault();
    if (typed.trim() === "") return;
    giveCredential(typed.trim());
    setGiven(true);
  };
  return (
    <form class="key-form" onSubmit={give}>
      <p>This service asks who you are: {why}.</p>
      <label for="key">API key or token</label>
      <div class="row">
        <input
          id="key"
          type="password"
          autocomplete="off"
          value={typed}
          onInput={(event) => setTyped(event.currentTarget.value)}
        />
        <button type="submit" class="button">
          Use it in this tab
        </button>
      </div>
      {given && <p role="status">It is sent from now on.</p>}
    </form>
  );
}
