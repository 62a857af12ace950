import { useEffect, useState } from 'react'

/** What a form changes of a stored object, from what that was when the form opened. */
export function useDraft<Values extends Record<string, string>>(now: Values, etag: string) {
  const [base, setBase] = useState({ values: now, etag })
  const [given, setGiven] = useState(now)
  const names = Object.keys(now) as Array<keyof Values & string>
  const changed = names.filter(n => given[n]!.trim() !== base.values[n])
  const stale = names.some(n => base.values[n] !== now[n])
  const rebase = () => setBase({ values: now, etag })
  useEffect(() => {
    if (etag === base.etag) return
    if (changed.length === 0) setGiven(now)
    if (changed.length === 0 || !stale) rebase() // nothing of the reader's is in the way
  }, [etag])
  return {
    began: base.values,
    given,
    changed,
    /** Somebody else stored other values, and the reader has changed some too. */
    torn: stale && changed.length > 0,
    differ: names.filter(n => now[n] !== base.values[n] || changed.includes(n)),
    etag: base.etag,
    body: () => Object.fromEntries(changed.map(n => [n, given[n]!.trim()])),
    set: (n: keyof Values & string, value: string) => setGiven(g => ({ ...g, [n]: value })),
    theirs: () => (setGiven(now), rebase()),
    mine: () => (setGiven(g => ({ ...now, ...Object.fromEntries(changed.map(n => [n, g[n]])) })), rebase()),
    stored: (values: Values, etag: string) => (setBase({ values, etag }), setGiven(values)),
  }
}
