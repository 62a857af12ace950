import { seats as t } from '../../text/seats.ts'

export const kinds = ['owner', 'admin', 'portal'] as const

export function State({ of }: { of: string }) {
  return <span className={of === 'active' ? 'tag yes' : of === 'invited' ? 'tag mind' : 'tag'}>{t.states[of] ?? of}</span>
}
