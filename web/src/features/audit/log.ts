import { call } from '../../api/call.ts'
import { useAsk, usePages } from '../../api/queries.ts'
import type { AuditEvents } from '../../api/schema.gen.ts'

/** What events are looked for; from and to are days of the reader. */
export interface Filter {
  actor: string
  action: string
  target: string
  subject: string
  from: string
  to: string
}

export const account = '_account' // no application's id begins so

const atOnce = 200 // events carry details

/** A day's beginning, n days later. */
function day(text: string, later = 0): number | undefined {
  const [y, m, d] = text.split('-').map(Number)
  const at = new Date(y ?? NaN, (m ?? NaN) - 1, (d ?? NaN) + later).getTime()
  return Number.isNaN(at) ? undefined : at
}

/** The filter as the API takes it: whole days, the last one included. */
export function query({ from, to, ...same }: Filter) {
  return { ...same, from: day(from), to: day(to, 1) }
}

const newestFirst = (page: AuditEvents) => page.events.toReversed()

/** A log from its newest event backwards: "" is the org's, account this service's own, else an application's. */
export function useLog(org: string, log: string, filter: Filter) {
  const how = { limit: atOnce }
  const root = usePages('GET /orgs/{org}/org/audit', { path: { org }, query: query(filter) }, newestFirst, { ...how, on: log === '' })
  const own = usePages('GET /orgs/{org}/audit', { path: { org }, query: query(filter) }, newestFirst, { ...how, on: log === account })
  const app = usePages('GET /orgs/{org}/applications/{app}/audit', { path: { org, app: log }, query: query(filter) }, newestFirst, { ...how, on: log !== '' && log !== account })
  return log === '' ? root : log === account ? own : app
}

/** One event with its whole details. */
export function useEvent(org: string, log: string, id: string, at: number, on: boolean) {
  const ask = { path: { org, app: log, id }, query: { at } }
  const root = useAsk('GET /orgs/{org}/org/audit/{id}', ask, { on: on && log === '' })
  const own = useAsk('GET /orgs/{org}/audit/{id}', ask, { on: on && log === account })
  const app = useAsk('GET /orgs/{org}/applications/{app}/audit/{id}', ask, { on: on && log !== '' && log !== account })
  return log === '' ? root : log === account ? own : app
}

function page(org: string, log: string, filter: Filter, cursor: string, signal: AbortSignal): Promise<AuditEvents> {
  const asked = { ...query(filter), mode: 'export' as const, limit: 1000, ...(cursor ? { cursor } : {}) }
  if (log === '') return call('GET /orgs/{org}/org/audit', { path: { org }, query: asked }, { signal })
  if (log === account) return call('GET /orgs/{org}/audit', { path: { org }, query: asked }, { signal })
  return call('GET /orgs/{org}/applications/{app}/audit', { path: { org, app: log }, query: asked }, { signal })
}

/** All events of a filter, oldest first, a line each. The last line tells that the file is whole: without it, it is cut. */
export async function exported(org: string, log: string, filter: Filter, signal: AbortSignal, onRead: (events: number) => void): Promise<{ file: Blob; count: number; failed: unknown }> {
  const parts: Blob[] = [] // which the browser keeps out of the page's memory
  const file = (tail: string) => new Blob([...parts, tail], { type: 'application/x-ndjson' })
  let count = 0
  try {
    for (let cursor = ''; ; ) {
      const { events, nextCursor } = await page(org, log, filter, cursor, signal)
      parts.push(new Blob([events.map(e => JSON.stringify(e) + '\n').join('')]))
      count += events.length
      onRead(count)
      if (!nextCursor) return { file: file(JSON.stringify({ end: true, count }) + '\n'), count, failed: null }
      cursor = nextCursor
    }
  } catch (failed) {
    return { file: file(''), count, failed }
  }
}
