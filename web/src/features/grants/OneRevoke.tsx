import { useState } from 'react'
import { call } from '../../api/call.ts'
import { useEffects } from '../../api/planning.ts'
import { readAnew, useAsk, useMe } from '../../api/queries.ts'
import { writer } from '../../api/rows.ts'
import type { Revoke } from '../../api/schema.gen.ts'
import { rv } from '../../text/revokes.ts'
import { t } from '../../text/en.ts'
import { w } from '../../text/writes.ts'
import { Button } from '../../ui/Button.tsx'
import { At, Id, Name, ScopeLink, SubjectLink, Time } from '../../ui/Id.tsx'
import { Impact, untilTold } from '../../ui/Impact.tsx'
import { Plan } from '../../ui/Plan.tsx'
import { Failed, Waiting } from '../../ui/States.tsx'
import { Sure } from '../../ui/Sure.tsx'
import { say } from '../../ui/Toasts.tsx'
import { revokesKey } from './gate.ts'

/** One revoke: all that is known of it, and its end. */
export function OneRevoke({ org, id, home, onClose }: { org: string; id: string; home: string; onClose: () => void }) {
  const me = useMe()
  const [sure, setSure] = useState(false)
  const atRoot = useAsk('GET /orgs/{org}/org/revokes/{id}', { path: { org, id } }, { on: home === '' })
  const atApp = useAsk('GET /orgs/{org}/applications/{app}/revokes/{id}', { path: { org, app: home, id } }, { on: home !== '' })
  const asked = home ? atApp : atRoot
  const of: Revoke | undefined = asked.data?.revoke
  const account = atRoot.data?.home.kind === 'account'
  const { by, key } = writer(me.data, account ? 'cloud.seats.update_seat' : revokesKey, home)
  const effects = useEffects(sure && !account ? { without: [{ id }] } : null, home)
  async function remove() {
    if (by === 'application') await call('DELETE /orgs/{org}/applications/{app}/revokes/{id}', { path: { org, app: home, id } })
    else await call('DELETE /orgs/{org}/org/revokes/{id}', { path: { org, id }, query: home ? { application: home } : {} })
    say(rv.gone)
    onClose()
    void readAnew()
  }
  return (
    <aside className="card stack" aria-label={rv.one} onKeyDown={e => e.key === 'Escape' && !sure && onClose()}>
      <header className="row far"><h2>{rv.one}</h2><Button small kind="bare" label={t.close} onPress={onClose}>×</Button></header>
      {asked.error ? <Failed of={asked.error} retry={() => void asked.refetch()} /> : !of ? <Waiting lines={4} /> : null}
      {of && (
        <>
          <dl className="facts">
            <dt>{t.revokes.user}</dt><dd><SubjectLink org={org} of={'user:' + of.userId} /></dd>
            <dt>{t.revokes.pattern}</dt><dd><Id of={of.pattern} /></dd>
            <dt>{t.grants.scope}</dt><dd><ScopeLink org={org} of={of.scope} /></dd>
            <dt>{t.grants.made}</dt><dd><Time at={of.createdAt} /></dd>
            {of.provenance.actorUserId && <><dt>{t.grants.by}</dt><dd><Name of={of.provenance.actorUserId} /></dd></>}
            <dt>{t.grants.from}</dt><dd>{of.provenance.kind}{of.provenance.source && <> <Name of={of.provenance.source} /></>}{of.provenance.note && <> – <Name of={of.provenance.note} /></>}</dd>
            <dt>{t.grants.id}</dt><dd><Id of={of.id} /></dd>
          </dl>
          <Button kind="danger" reason={by ? null : t.needs(key)} onPress={() => setSure(true)}>{rv.remove}</Button>
          {sure && (
            <Sure title={rv.removeTitle} danger submit={rv.removeNow} reason={account ? null : untilTold(effects)} onSure={remove} onEnd={() => setSure(false)}>
              <Plan steps={[{ sign: '−', text: <>{rv.ends} <Id of={of.pattern} /> {rv.from} <strong><Name of={of.userId} /></strong> <At of={of.scope} /></> }]} />
              <p className="dim">{account ? t.give.account : home ? w.keptBy(home) : w.root}</p>
              {!account && <Impact of={effects} none={rv.noneBack} />}
            </Sure>
          )}
        </>
      )}
    </aside>
  )
}
