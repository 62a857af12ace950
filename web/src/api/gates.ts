import type { MeAnswer } from './schema.gen.ts'

export type May = 'yes' | 'no' | 'unknown'

/** What the host said of the caller's own keys: unknown where the org root was silent. */
export function holds(me: MeAnswer | undefined, key: string, scope = '*'): May {
  if (!me) return 'unknown'
  const list = key.startsWith('cloud.') ? me.permissions.account : me.permissions.org
  if (!list) return 'unknown'
  const scopes = list.find(held => held.key === key)?.scopes ?? []
  return scopes.includes('*') || scopes.includes(scope) ? 'yes' : 'no'
}

/** Whether the caller holds a key of the service at some scope: lists then tell what is there. */
export const holdsAnywhere = (me: MeAnswer | undefined, key: string) => me?.permissions.account.some(held => held.key === key) ?? false
