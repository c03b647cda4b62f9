/** What a call answered, for a component: nothing yet, a value, or an error, and how to ask again. */
import { useCallback, useEffect, useState } from "preact/hooks";
import { credential } from "./credential";

export type Answer<T> = { state: "waiting" } | { state: "known"; value: T } | { state: "failed"; error: unknown };

/** Asks when the component appears, when `ask` changes, when another credential is given, and on `again`. */
export function useAnswer<T>(ask: () => Promise<T>): [Answer<T>, () => void] {
  const [answer, setAnswer] = useState<Answer<T>>({ state: "waiting" });
  const [round, setRound] = useState(0);
  const known = credential.value;
  useEffect(() => {
    let wanted = true;
    const take = (next: Answer<T>) => wanted && setAnswer(next);
    ask().then(
      (value) => take({ state: "known", value }),
      (error: unknown) => take({ state: "failed", error }),
    );
    return () => {
      wanted = false;
    };
  }, [ask, round, known]);
  return [answer, useCallback(() => setRound((before) => before + 1), [])];
}
