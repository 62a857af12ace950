import type { QueryClient } from '@tanstack/react-query'
import { url } from './call.ts'

const used = 5 * 60_000 // reads for who has left the screen would keep an idle session alive

const settling = 1000 // a stream begins by telling where things stand

/** Hears of changes of an org while the page is visible, and marks what was read as old. */
export function follow(org: string, queries: QueryClient, ended: () => void): () => void {
  let source: EventSource | null = null
  let again = 0
  let lastUse = Date.now()
  let waiting = false
  let opened = 0

  const refresh = () => {
    waiting = Date.now() - lastUse > used
    const mine = { predicate: (q: { queryKey: readonly unknown[] }) => q.queryKey[0] !== 'session' && q.queryKey[2] !== 'pages' }
    void queries.invalidateQueries({ ...mine, refetchType: waiting ? 'none' : 'active' })
    void queries.invalidateQueries({ predicate: q => q.queryKey[2] === 'pages', refetchType: 'none' })
  }
  const use = () => {
    lastUse = Date.now()
    if (waiting) refresh()
  }
  const open = () => {
    clearTimeout(again)
    if (source || document.hidden) return
    opened = Date.now()
    source = new EventSource(url('GET /orgs/{org}/changes', { path: { org } }))
    source.addEventListener('change', () => {
      if (Date.now() - opened > settling) refresh()
    })
    source.addEventListener('end', () => {
      close()
      ended()
    })
    source.addEventListener('error', () => {
      if (source?.readyState !== EventSource.CLOSED) return // the browser opens it again
      close()
      again = window.setTimeout(open, 30_000)
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
