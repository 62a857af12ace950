const base = '/dashboard/'

/** The path to return to after a sign-in: one of the dashboard's own, or none. */
export function returning(path: string | undefined): string | undefined {
  if (!path || path.length > 2048 || !path.startsWith(base) || path.startsWith(base + '/') || path.startsWith(base + 'sign-in')) return undefined
  if (/[\\\u0000-\u001f\u007f]/.test(path)) return undefined
  const at = new URL(path, 'http://localhost')
  return at.origin === 'http://localhost' && at.pathname.startsWith(base) ? at.pathname + at.search : undefined
}

/** The organization that such a path leads to, "" for none. */
export const orgOf = (path: string | undefined) => /^\/dashboard\/orgs\/([\w.-]+)/.exec(path ?? '')?.[1] ?? ''
