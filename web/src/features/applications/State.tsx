import type { Application, Health } from '../../api/schema.gen.ts'
import { apps } from '../../text/applications.ts'

/** Whether it is linked. */
export function StateTag({ of }: { of: string }) {
  return <span className={of === 'registered' ? 'tag mind' : 'tag'}>{apps.states[of] ?? of}</span>
}

/** How it was found when it was asked last. */
export function HealthTag({ of }: { of: Application }) {
  if (of.state === 'registered') return <StateTag of={of.state} />
  const status = of.health?.status ?? 'unverified'
  return <span className={status === 'healthy' ? 'tag yes' : status === 'unverified' ? 'tag' : 'tag no'}>{apps.healths[status] ?? status}</span>
}

/** The word that says why health is as it is. */
export const causeOf = (h: Health | null): string => (h?.status === 'healthy' ? 'healthy' : (h?.detail ?? (h && h.status !== 'unverified' ? 'error' : 'unverified')))
