/** Which problem this is, in which series, and its neighbours there. */
import type { Problem } from "../api/types";
import { Link } from "../shell/link";
import { problemPath } from "../shell/router";
import "./header.css";

export function Crumbs({ problem: { title, series } }: { problem: Problem }) {
  return (
    <nav class="crumbs" aria-label="Where you are">
      {series && <span class="series">{series.title}</span>}
      {series && <Neighbour side="previous" to={series.previous ?? null} />}
      <span class="here" aria-current="page">
        {title}
      </span>
      {series && <Neighbour side="next" to={series.next ?? null} />}
    </nav>
  );
}

interface NeighbourProps {
  side: "previous" | "next";
  to: { title: string; slug?: string | null } | null;
}

function Neighbour({ side, to }: NeighbourProps) {
  if (!to?.slug) return null;
  return (
    <Link to={problemPath(to.slug)} class="neighbour" label={`${side}: ${to.title}`}>
      {side === "previous" ? "‹" : "›"}
    </Link>
  );
}
