import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { call } from '../../api/call.ts'
import { readAnew, useAsk, useMe } from '../../api/queries.ts'
import { writer } from '../../api/rows.ts'
import type { Grant } from '../../api/schema.gen.ts'
import { parseSubject } from '../../domain/subjects.ts'
import { t } from '../../text/en.ts'
import { gr } from '../../text/grants.ts'
import { Button } from '../../ui/Button.tsx'
import { Id, Name, ScopeLink, SubjectLink, Time, Until } from '../../ui/Id.tsx'
import { Failed, Waiting } from '../../ui/States.tsx'
import { say } from '../../ui/Toasts.tsx'
import { Expiry, Swap } from './Alter.tsx'
import { grantsKey } from './gate.ts'
import { TakeAway } from './TakeAway.tsx'

/** One grant: all that is known of it, what can be changed, and its end. */
export function OneGrant({ org, id, home, onClose }: { org: string; id: string; home: string; onClose: () => void }) {
  const me = useMe()
  const [doing, setDoing] = useState<'remove' | 'expiry' | 'swap' | null>(null)
  const atRoot = useAsk('GET /orgs/{org}/org/grants/{id}', { path: { org, id } }, { on: home === '' })
  const atApp = useAsk('GET /orgs/{org}/applications/{app}/grants/{id}', { path: { org, app: home, id } }, { on: home !== '' })
  const asked = home ? atApp : atRoot
  const g: Grant | undefined = asked.data?.grant
  const { by, key } = writer(me.data, atRoot.data?.home.kind === 'account' ? 'cloud.seats.update_seat' : grantsKey, home)
  const reason = by ? null : t.needs(key)
  const change = by === 'org' ? null : t.needs(grantsKey) // of one commit; the application's endpoints have none
  async function remove() {
    if (by === 'application') await call('DELETE /orgs/{org}/applications/{app}/grants/{id}', { path: { org, app: home, id } })
    else await call('DELETE /orgs/{org}/org/grants/{id}', { path: { org, id }, query: home ? { application: home } : {} })
    say(t.grants.gone(1))
    onClose()
    void readAnew()
  }
  const { kind, id: who } = parseSubject(g?.subject ?? '')
  const grants = g ? [{ ...g, ...(atRoot.data ? { home: atRoot.data.home } : {}) }] : []
  const done = () => {
    setDoing(null)
    void readAnew()
  }
  return (
    <aside className="card stack" aria-label={t.grants.one} onKeyDown={e => e.key === 'Escape' && !doing && onClose()}>
      <header className="row far"><h2>{t.grants.one}</h2><Button small kind="bare" label={t.close} onPress={onClose}>×</Button></header>
      {asked.error ? <Failed of={asked.error} retry={() => void asked.refetch()} /> : !g ? <Waiting lines={5} /> : null}
      {g && (
        <>
          <dl className="facts">
            <dt>{t.grants.subject}</dt><dd><SubjectLink org={org} of={g.subject} /></dd>
            <dt>{g.roleId ? t.grants.role : t.grants.pattern}</dt><dd>{g.roleId ? <Link to="/orgs/$org/roles/$id" params={{ org, id: g.roleId }}><Name of={g.roleId} /></Link> : <Id of={g.pattern ?? ''} />}</dd>
            <dt>{t.grants.scope}</dt><dd><ScopeLink org={org} of={g.scope} /></dd>
            <dt>{t.grants.until}</dt><dd>{g.expiresAt ? <Time at={g.expiresAt} /> : t.grants.forever}{g.expiresAt && g.expiresAt <= Date.now() && <> <Until at={g.expiresAt} /></>}</dd>
            <dt>{t.grants.made}</dt><dd><Time at={g.createdAt} /></dd>
            {g.provenance.actorUserId && <><dt>{t.grants.by}</dt><dd><Name of={g.provenance.actorUserId} /></dd></>}
            <dt>{t.grants.from}</dt><dd>{g.provenance.kind}{g.provenance.source && <> <Name of={g.provenance.source} /></>}{g.provenance.note && <> – <Name of={g.provenance.note} /></>}</dd>
            <dt>{t.grants.id}</dt><dd><Id of={g.id} /></dd>
          </dl>
          {kind === 'user' && g.pattern && !g.pattern.includes('*') && (
            <Link className="button" to="/orgs/$org/explain" params={{ org }} search={{ user: who, key: g.pattern, scope: g.scope }}>{t.grants.explain}</Link>
          )}
          <div className="row">
            <Button reason={change} onPress={() => setDoing('expiry')}>{gr.expiry}</Button>
            <Button reason={change} onPress={() => setDoing('swap')}>{gr.swap}</Button>
            <Button kind="danger" reason={reason} onPress={() => setDoing('remove')}>{t.grants.remove}</Button>
          </div>
          {doing === 'remove' && <TakeAway org={org} grants={grants} home={home} onSure={remove} onEnd={() => setDoing(null)} />}
          {doing === 'expiry' && <Expiry org={org} grants={grants} home={home} onDone={done} onEnd={() => setDoing(null)} />}
          {doing === 'swap' && <Swap org={org} grants={grants} home={home} onDone={() => (onClose(), done())} onEnd={() => setDoing(null)} />}
        </>
      )}
    </aside>
  )
}
