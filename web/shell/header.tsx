/** The line at the top: the way back, where one is, and what the page adds. */
import type { ComponentChildren } from "preact";
import { Link } from "./link";

export function Header({ children }: { children?: ComponentChildren }) {
  return (
    <header class="top">
      <Link to="" class="brand" label="grader: all problems">
        <svg viewBox="0 0 32 32" width="22" height="22" aria-hidden="true">
          <rect width="32" height="32" rx="8" fill="currentColor" />
          <path d="M6 22c6 0 6.500-12 10-12s4 6 10 6" class="curve" />
        </svg>
        <span>grader</span>
      </Link>
      {children}
    </header>
  );
}
