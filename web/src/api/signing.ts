import { call, keepToken } from './call.ts'
import { queries, sessionQuery } from './queries.ts'

const tell = (detail: 'in' | 'out') => document.dispatchEvent(new CustomEvent('authz:session', { detail }))

/** Opens a session with the bootstrap secret. */
export async function signIn(org: string, userId: string, secret: string) {
  const signed = await call('POST /auth/sign-in', { body: { ...(org ? { org } : {}), userId, proof: { kind: 'bootstrap', secret } } })
  queries.clear()
  keepToken(signed.csrfToken, signed.session.userId)
  await queries.fetchQuery(sessionQuery)
  tell('in')
}

export async function signOut() {
  await call('POST /auth/sign-out', {})
  queries.clear()
  keepToken('', '')
  tell('out')
}
