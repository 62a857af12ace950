import { host as t } from '../../text/host.ts'

export function State({ of }: { of: string }) {
  return <span className={of === 'running' ? 'tag yes' : of === 'idle' || of === 'not_org_root' ? 'tag' : of === 'restarting' ? 'tag mind' : 'tag no'}>{t.states[of] ?? of}</span>
}
