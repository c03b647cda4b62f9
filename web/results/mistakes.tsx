/** The named mistakes that explain what came out, each with its hint. */
import type { Mistake } from "../api/types";

export function Mistakes({ mistakes }: { mistakes: readonly Mistake[] }) {
  return (
    <>
      {mistakes.map(({ mistake, title, hint, explains, of }) => (
        <article key={mistake} class="mistake appear">
          <h3>{title}</h3>
          <p>{hint}</p>
          <p class="explains">{explains === of ? `Explains all ${of} wrong cases` : `Explains ${explains} of ${of} wrong cases`}</p>
        </article>
      ))}
    </>
  );
}
