import { Link } from '@tanstack/react-router'
import { useEffect, useState } from 'react'
import { call } from '../../api/call.ts'
import { holds } from '../../api/gates.ts'
import { useMe } from '../../api/queries.ts'
import type { Grant, HomedGrant } from '../../api/schema.gen.ts'
import { parseSubject } from '../../domain/subjects.ts'
import { t } from '../../text/en.ts'
import { Button } from '../../ui/Button.tsx'
import { Id, Name, ScopeName, SubjectLink, Time } from '../../ui/Id.tsx'
import { say } from '../../ui/Toasts.tsx'
import { TakeAway } from './TakeAway.tsx'

interface Props {
  org: string
  grant: Grant & Partial<HomedGrant>
  home: string
  onClose: () => void
  onGone: () => void
}

/** One grant: all that is known of it, and its end. */
export function Detail({ org, grant: g, home, onClose, onGone }: Props) {
  const me = useMe()
  const [sure, setSure] = useState(false)
  useEffect(() => setSure(false), [g.id])
  const account = g.home?.kind === 'account'
  const key = account ? 'cloud.seats.update_seat' : 'authz_internal.access.manage_grants'
  const may = holds(me.data, key) === 'yes'
  const { kind, id } = parseSubject(g.subject)
  async function remove() {
    await call('DELETE /orgs/{org}/org/grants/{id}', { path: { org, id: g.id }, query: home ? { application: home } : {} })
    say(t.grants.gone(1))
    onClose()
    onGone()
  }
  return (
    <aside className="card stack" aria-label={t.grants.one} onKeyDown={e => e.key === 'Escape' && onClose()}>
      <header className="row far"><h2>{t.grants.one}</h2><Button small kind="bare" label={t.close} onPress={onClose}>×</Button></header>
      <dl className="facts">
        <dt>{t.grants.subject}</dt><dd><SubjectLink org={org} of={g.subject} /></dd>
        <dt>{g.roleId ? t.grants.role : t.grants.pattern}</dt><dd>{g.roleId ? <Link to="/orgs/$org/roles/$id" params={{ org, id: g.roleId }}><Name of={g.roleId} /></Link> : <Id of={g.pattern ?? ''} />}</dd>
        <dt>{t.grants.scope}</dt><dd><ScopeName of={g.scope} /></dd>
        <dt>{t.grants.until}</dt><dd>{g.expiresAt ? <Time at={g.expiresAt} /> : t.grants.forever}</dd>
        <dt>{t.grants.made}</dt><dd><Time at={g.createdAt} /></dd>
        {g.provenance.actorUserId && <><dt>{t.grants.by}</dt><dd><Name of={g.provenance.actorUserId} /></dd></>}
        <dt>{t.grants.from}</dt><dd>{g.provenance.kind}{g.provenance.source && <> <Name of={g.provenance.source} /></>}{g.provenance.note && <> – <Name of={g.provenance.note} /></>}</dd>
        <dt>{t.grants.id}</dt><dd><Id of={g.id} /></dd>
      </dl>
      {kind === 'user' && g.pattern && !g.pattern.includes('*') && (
        <Link className="button" to="/orgs/$org/explain" params={{ org }} search={{ user: id, key: g.pattern, scope: g.scope }}>{t.grants.explain}</Link>
      )}
      {sure ? <TakeAway org={org} grants={[g]} home={home} onSure={remove} onBack={() => setSure(false)} /> : may ? <Button kind="danger" onPress={() => setSure(true)}>{t.grants.remove}</Button> : <Button kind="danger" reason={t.needs(key)}>{t.grants.remove}</Button>}
    </aside>
  )
}
