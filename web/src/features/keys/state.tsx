import type { APIKey } from '../../api/schema.gen.ts'
import { keys as t } from '../../text/keys.ts'
import { Name } from '../../ui/Id.tsx'

export const kinds = ['admin', 'principal', 'publisher'] as const
export const manages = 'cloud.applications.manage_credentials'

export const stateOf = (k: APIKey) => (k.revokedAt ? 'revoked' : k.expiresAt !== null && k.expiresAt <= Date.now() ? 'expired' : 'live')

export function State({ of }: { of: APIKey }) {
  const state = stateOf(of)
  return <span className={state === 'live' ? 'tag yes' : 'tag no'}>{t.states[state]}</span>
}

/** As whom a key acts. */
export function ActsAs({ of: k }: { of: APIKey }) {
  if (k.kind === 'principal') return <span>{t.serviceOf} <Name of={k.serviceId ?? ''} /></span>
  if (k.kind === 'publisher') return <span>{t.publishes} <Name of={k.namespace ?? ''} /></span>
  return <span>{t.seatOf} <Name of={k.userId ?? ''} /></span>
}
