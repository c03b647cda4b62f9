/** Another tab changed the same draft: where both were at the same text this one follows, else the learner chooses. */
import { useEffect, useState } from "preact/hooks";
import { Notice } from "../shell/notice";
import type { Draft } from "./draft";

interface Props {
  draft: Draft;
  take: (text: string) => void;
}

export function Elsewhere({ draft, take }: Props) {
  const [theirs, setTheirs] = useState<string | null>(null);
  useEffect(
    () => draft.whenChangedElsewhere((now, before) => (draft.text.peek() === before ? take(now) : setTheirs(now))),
    [draft, take],
  );
  return theirs === null ? null : <Choice draft={draft} theirs={theirs} take={take} done={() => setTheirs(null)} />;
}

function Choice({ draft, theirs, take, done }: Props & { theirs: string; done: () => void }) {
  if (theirs === draft.text.value) return null;
  const takeTheirs = () => {
    take(theirs);
    done();
  };
  const keepMine = () => {
    draft.set(draft.text.peek());
    done();
  };
  return (
    <Notice kind="warn">
      This code was changed in another tab.{" "}
      <button type="button" class="plain" onClick={takeTheirs}>
        Take that one
      </button>{" "}
      <button type="button" class="plain" onClick={keepMine}>
        Keep this one
      </button>
    </Notice>
  );
}
