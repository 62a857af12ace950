import { failure, isFailure, unanswered } from './errors.ts'
import type { CurrentSession, Endpoints } from './schema.gen.ts'

export type Endpoint = keyof Endpoints
export type Answer<E extends Endpoint> = Endpoints[E]['answer']
type Part<Name extends string, T> = T extends null ? unknown : {} extends T ? { [N in Name]?: T } : { [N in Name]: T }
export type Input<E extends Endpoint> = Part<'path', Endpoints[E]['path']> &
  Part<'query', Endpoints[E]['query']> &
  Part<'body', Endpoints[E]['body']>

export interface How {
  signal?: AbortSignal
  /** Made when the form opened: the same form sent twice is done once. */
  key?: string
  ifMatch?: string
}

const base = '/api/v1'

let csrf = '' // in memory alone
let who = '' // whose it is
let leave: (why: string) => void = () => {}

/** Keeps the token that every write carries, and whose it is. */
export function keepToken(token: string, userId: string) {
  csrf = token
  who = userId
}

/** What happens when a call finds nobody signed in. */
export const onSignedOut = (then: (why: string) => void) => void (leave = then)

export const newKey = () => crypto.randomUUID()

export function url(endpoint: Endpoint, input: { path?: {}; query?: {} } = {}): string {
  const values = (input.path ?? {}) as Record<string, string>
  const path = endpoint.slice(endpoint.indexOf(' ') + 1).replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(values[name] ?? ''))
  const query = new URLSearchParams()
  for (const [name, value] of Object.entries(input.query ?? {})) {
    if (value !== undefined && value !== '') query.set(name, String(value))
  }
  const text = query.toString()
  return base + path + (text && '?' + text)
}

/** Calls an endpoint. Whatever it fails with is a Failure. */
export async function call<E extends Endpoint>(endpoint: E, input: Input<E>, how: How = {}): Promise<Answer<E>> {
  const told = await open(endpoint, input, how)
  return (told.status === 204 ? null : await told.json()) as Answer<E>
}

/** An answer whose body is still to be read. */
export const open = <E extends Endpoint>(endpoint: E, input: Input<E>, how: How = {}): Promise<Response> => send(endpoint, input, how)

async function send(endpoint: Endpoint, input: { path?: {}; query?: {}; body?: unknown }, how: How, again = true): Promise<Response> {
  const method = endpoint.slice(0, endpoint.indexOf(' '))
  const write = method !== 'GET'
  const headers: Record<string, string> = { Accept: 'application/json' }
  if (write && csrf) headers['X-Authz-Csrf'] = csrf
  if (how.key && method === 'POST') headers['Idempotency-Key'] = how.key
  if (how.ifMatch) headers['If-Match'] = how.ifMatch
  if (input.body !== undefined) headers['Content-Type'] = 'application/json'
  let answer: Response
  try {
    const body = input.body === undefined ? null : JSON.stringify(input.body)
    answer = await fetch(url(endpoint, input), { method, headers, body, signal: how.signal ?? null, cache: 'no-store', redirect: 'error' })
  } catch (e) {
    if (how.signal?.aborted) throw e
    throw unanswered(write)
  }
  if (answer.ok) return answer
  const failed = await failure(answer)
  if (isFailure(failed, 'csrf_failed') && again && endpoint !== 'POST /auth/sign-in') {
    const before = who
    const now = await session() // another window signed in anew
    if (now.session.userId === before) return send(endpoint, input, how, false)
    leave('other_user')
  }
  if (isFailure(failed, 'session_expired', 'credential_missing')) leave(failed.code)
  throw failed
}

/** Reads who is signed in, and the token that goes with it. */
export async function session(signal?: AbortSignal): Promise<CurrentSession> {
  const now = await call('GET /auth/session', {}, { signal })
  keepToken(now.csrfToken, now.session.userId)
  return now
}
