import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { useAsk } from '../../api/queries.ts'
import type { Grant, Revoke } from '../../api/schema.gen.ts'
import { visible } from '../../domain/visible.ts'
import { t } from '../../text/en.ts'
import { rs } from '../../text/resources.ts'
import { Id, Name, ScopeLink, SubjectLink, Until } from '../../ui/Id.tsx'
import { Failed, Waiting } from '../../ui/States.tsx'

const most = 100

/** One step of a chain; its rows are read once it is opened. */
export function Step({ org, app, scope, begin }: { org: string; app: string; scope: string; begin: boolean }) {
  const [open, setOpen] = useState(begin)
  return (
    <li>
      <div className="row">
        <button type="button" className="button bare small" aria-expanded={open} aria-label={rs.show(scope === '*' ? t.everywhere : visible(scope))} onClick={() => setOpen(!open)}><span aria-hidden="true">{open ? '▾' : '▸'}</span></button>
        {begin ? <strong><Id of={scope} /></strong> : <ScopeLink org={org} of={scope} />}
      </div>
      {open && <Rows org={org} app={app} scope={scope} />}
    </li>
  )
}

function Rows({ org, app, scope }: { org: string; app: string; scope: string }) {
  const query = { limit: most, ...(app ? { scope } : {}) }
  const grantsAtRoot = useAsk('GET /orgs/{org}/org/grants', { path: { org }, query }, { on: !app })
  const grantsAtApp = useAsk('GET /orgs/{org}/applications/{app}/grants', { path: { org, app }, query }, { on: !!app })
  const revokesAtRoot = useAsk('GET /orgs/{org}/org/revokes', { path: { org }, query }, { on: !app })
  const revokesAtApp = useAsk('GET /orgs/{org}/applications/{app}/revokes', { path: { org, app }, query }, { on: !!app })
  const grants = app ? grantsAtApp : grantsAtRoot
  const revokes = app ? revokesAtApp : revokesAtRoot
  const failed = grants.error ?? revokes.error
  if (failed) return <Failed of={failed} retry={() => (void grants.refetch(), void revokes.refetch())} />
  if (!grants.data || !revokes.data) return <Waiting lines={2} />
  const given: Grant[] = grants.data.grants
  const taken: Revoke[] = revokes.data.revokes
  if (given.length + taken.length === 0) return <p className="dim nested">{rs.nothing}</p>
  return (
    <div className="nested stack tight">
      <p className="small dim">{rs.grants(given.length, !!grants.data.nextCursor)}, {rs.revokes(taken.length, !!revokes.data.nextCursor)}</p>
      <ul className="list keys bounded" tabIndex={0} aria-label={rs.show(scope === '*' ? t.everywhere : visible(scope))}>
        {taken.map(r => <li key={r.id}><span className="grow"><span className="tag no">{t.explain.revoke}</span> <SubjectLink org={org} of={'user:' + r.userId} /> <Id of={r.pattern} /></span></li>)}
        {given.map(g => (
          <li key={g.id}>
            <span className="grow"><SubjectLink org={org} of={g.subject} /> {t.explain.hasSelf} {g.roleId ? <><span className="dim">{t.explain.role}</span> <Link to="/orgs/$org/roles/$id" params={{ org, id: g.roleId }}><Name of={g.roleId} /></Link></> : <Id of={g.pattern ?? ''} />}</span>
            {g.expiresAt ? <span className="small dim">{g.expiresAt > Date.now() && t.give.until} <Until at={g.expiresAt} /></span> : null}
          </li>
        ))}
      </ul>
      {(grants.data.nextCursor || revokes.data.nextCursor) && (
        <p className="row small">
          <span className="dim">{t.explain.first(most)}</span>
          <Link to="/orgs/$org/grants" params={{ org }} search={{ home: app || undefined, scope: app ? scope : undefined }}>{rs.all}</Link>
          <Link to="/orgs/$org/revokes" params={{ org }} search={{ home: app || undefined, scope: app ? scope : undefined }}>{rs.allRevokes}</Link>
        </p>
      )}
    </div>
  )
}
