/** From the address to what is shown, and back. The page may be served below any path: `<base>` says where its root is. */
import { signal } from "@preact/signals";

export type Route = { page: "catalogue" } | { page: "problem"; slug: string } | { page: "missing" };

let root = new URL("http://page.invalid/");

export const route = signal<Route>({ page: "catalogue" });

/** Makes the base absolute, so that it stays the same when the address changes; returns it. */
export function pinBase(): URL {
  root = new URL(document.baseURI);
  const base = document.querySelector("base");
  if (base) base.href = root.href;
  route.value = parse(location.pathname);
  addEventListener("popstate", () => {
    route.value = parse(location.pathname);
  });
  return root;
}

function parse(pathname: string): Route {
  const path = pathname.slice(root.pathname.length).replace(/\/$/, "");
  if (path === "") return { page: "catalogue" };
  const slug = /^problems\/([a-z][a-z0-9_]*)$/.exec(path)?.[1];
  return slug === undefined ? { page: "missing" } : { page: "problem", slug };
}

/** The address of a problem's page. */
export function problemPath(slug: string): string {
  return `problems/${slug}`;
}

let byLink = false;

/** Whether the page that is shown was gone to from another one of ours. */
export function cameByLink(): boolean {
  return byLink;
}

/** Goes to an address of ours without loading the page anew. */
export function go(path: string): void {
  history.pushState(null, "", new URL(path, root));
  byLink = true;
  route.value = parse(location.pathname);
  scrollTo(0, 0);
}
