import type { Query, QueryClient } from '@tanstack/react-query'
import { url } from './call.ts'

const used = 5 * 60_000 // reads for who has left the screen would keep an idle session alive

// The reader's own rights. They may be a minute old: marked as old when the stream begins,
// they would be read again by each part of the screen that comes later.
const mine = 'GET /orgs/{org}/me'

// A list of several pages is read again when its reader wants it.
const long = (q: Query) => q.queryKey[2] === 'pages' && ((q.state.data as { pages: unknown[] } | undefined)?.pages.length ?? 0) > 1

/** Hears of changes of an org while the page is visible, and marks what was read as old. Doubt calls when the session may have ended. */
export function follow(org: string, queries: QueryClient, doubt: () => void): () => void {
  let source: EventSource | null = null
  let again = 0
  let lastUse = Date.now()
  let waiting = false
  let told = new Set<string>()

  // written is false where nothing is known to have changed since it was read.
  const refresh = (written: boolean) => {
    const left = Date.now() - lastUse > used
    waiting ||= written && left
    const refetchType = written && !left ? 'active' : 'none'
    void queries.invalidateQueries({ predicate: q => q.queryKey[0] !== 'session' && (written ? !long(q) : q.queryKey[2] !== 'pages' && q.queryKey[0] !== mine), refetchType })
    if (written) void queries.invalidateQueries({ predicate: long, refetchType: 'none' })
  }
  const use = () => {
    lastUse = Date.now()
    if (!waiting) return
    waiting = false
    refresh(true)
  }
  const open = () => {
    clearTimeout(again)
    if (source || document.hidden) return
    told = new Set()
    source = new EventSource(url('GET /orgs/{org}/changes', { path: { org } }))
    source.addEventListener('change', e => {
      const { changed } = JSON.parse((e as MessageEvent<string>).data) as { changed: string[] }
      const written = changed.some(where => told.has(where)) // the first of each tells where it stands
      for (const where of changed) told.add(where)
      refresh(written)
    })
    source.addEventListener('end', () => {
      close()
      doubt()
    })
    source.addEventListener('error', () => {
      if (source?.readyState !== EventSource.CLOSED) return // the browser opens it again
      close()
      again = window.setTimeout(open, 30_000)
      if (Date.now() - lastUse < used) doubt() // a refusal has no reason here: an ended session is one
    })
  }
  const close = () => {
    source?.close()
    source = null
  }
  const seen = () => (document.hidden ? close() : open())
  document.addEventListener('visibilitychange', seen)
  for (const event of ['pointerdown', 'keydown'] as const) window.addEventListener(event, use, { passive: true })
  open()
  return () => {
    clearTimeout(again)
    close()
    document.removeEventListener('visibilitychange', seen)
    for (const event of ['pointerdown', 'keydown'] as const) window.removeEventListener(event, use)
  }
}
