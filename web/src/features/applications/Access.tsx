import { Link, useNavigate } from '@tanstack/react-router'
import { usePages } from '../../api/queries.ts'
import type { Application, Grant, Request, Revoke } from '../../api/schema.gen.ts'
import { apps } from '../../text/applications.ts'
import { t } from '../../text/en.ts'
import { Filter } from '../../ui/Filter.tsx'
import { type Column, Grid } from '../../ui/Grid.tsx'
import { Id, Name, ScopeName, SubjectLink, Time } from '../../ui/Id.tsx'
import { Empty } from '../../ui/States.tsx'
import { useSpot } from './Application.tsx'
import { Trouble } from './Review.tsx'

const words = apps.access
const lists = ['grants', 'revokes', 'requests'] as const
type List = (typeof lists)[number]
interface Props {
  org: string
  of: Application
}

/** The rows at the application's own scopes, as it answers them. */
export function Access({ org, of: a }: Props) {
  const { search, set } = useSpot()
  const list = lists.find(l => l === search.list) ?? 'grants'
  if (a.state === 'registered') return <Empty title={words.notLinked} />
  return (
    <>
      <div className="filters">
        <div className="chips" role="group" aria-label={words.list}>
          {lists.map(l => <button key={l} type="button" className="chip" aria-pressed={l === list} onClick={() => set({ list: l === 'grants' ? undefined : l, subject: undefined, role: undefined, user: undefined, scope: undefined, state: undefined }, false)}>{words[l]}</button>)}
        </div>
        <Filters list={list} />
        {list === 'grants' && <Link className="button" to="/orgs/$org/grants" params={{ org }} search={{ home: a.id }}>{words.change}</Link>}
        {list === 'revokes' && <Link className="button" to="/orgs/$org/revokes" params={{ org }} search={{ home: a.id }}>{words.changeRevokes}</Link>}
      </div>
      {list === 'grants' ? <Grants org={org} of={a} /> : list === 'revokes' ? <Revokes org={org} of={a} /> : <Requests org={org} of={a} />}
    </>
  )
}

function Filters({ list }: { list: List }) {
  const { search: { subject = '', role = '', user = '', scope = '', state = '' }, set } = useSpot()
  if (list === 'grants') {
    return <><Filter first label={words.subject} placeholder={t.grants.subjectHint} value={subject} onChange={subject => set({ subject })} /><Filter label={words.role} value={role} onChange={role => set({ role })} /><Filter mono label={words.scope} value={scope} onChange={scope => set({ scope })} /></>
  }
  return (
    <>
      <Filter first label={list === 'revokes' ? words.user : words.who} value={user} onChange={user => set({ user })} />
      {list === 'revokes' && <Filter mono label={words.scope} value={scope} onChange={scope => set({ scope })} />}
      {list === 'requests' && (
        <select className="input" aria-label={words.states} value={state} onChange={e => set({ state: e.target.value || undefined })}>
          <option value="">{words.anyState}</option>
          {Object.entries(t.requests.states).map(([id, label]) => <option key={id} value={id}>{label}</option>)}
        </select>
      )}
    </>
  )
}

const what = (g: { roleId?: string; pattern?: string }) => (g.roleId ? <><span className="dim">{t.explain.role}</span> <Name of={g.roleId} /></> : <Id of={g.pattern ?? ''} />)

function Grants({ org, of: a }: Props) {
  const { search: { subject = '', role = '', scope = '' } } = useSpot()
  const pages = usePages('GET /orgs/{org}/applications/{app}/grants', { path: { org, app: a.id }, query: { subject, roleId: role, scope } }, p => p.grants)
  const columns: Array<Column<Grant>> = [
    { id: 'subject', title: t.grants.subject, width: 'minmax(0, 1fr)', cell: g => <SubjectLink org={org} of={g.subject} /> },
    { id: 'what', title: t.grants.what, width: 'minmax(0, 1.2fr)', cell: what },
    { id: 'scope', title: t.grants.scope, width: 'minmax(0, 1.2fr)', cell: g => <ScopeName of={g.scope} /> },
    { id: 'until', title: t.grants.until, width: '108px', least: true, cell: g => (g.expiresAt ? <Time at={g.expiresAt} date /> : <span className="dim">{t.grants.forever}</span>) },
  ]
  if (pages.error) return <Trouble of={pages.error} retry={() => void pages.refetch()} />
  return <Grid label={words.grants} columns={columns} rowId={g => g.id} {...pages.grid} empty={<Empty title={subject || role || scope ? t.grid.hidden : words.noneGrants} />} />
}

function Revokes({ org, of: a }: Props) {
  const { search: { user = '', scope = '' } } = useSpot()
  const pages = usePages('GET /orgs/{org}/applications/{app}/revokes', { path: { org, app: a.id }, query: { userId: user, scope } }, p => p.revokes)
  const columns: Array<Column<Revoke>> = [
    { id: 'user', title: t.revokes.user, width: 'minmax(0, 1fr)', cell: r => <SubjectLink org={org} of={'user:' + r.userId} /> },
    { id: 'pattern', title: t.revokes.pattern, width: 'minmax(0, 1.2fr)', cell: r => <Id of={r.pattern} /> },
    { id: 'scope', title: t.grants.scope, width: 'minmax(0, 1.2fr)', cell: r => <ScopeName of={r.scope} /> },
  ]
  if (pages.error) return <Trouble of={pages.error} retry={() => void pages.refetch()} />
  return <Grid label={words.revokes} columns={columns} rowId={r => r.id} {...pages.grid} empty={<Empty title={user || scope ? t.grid.hidden : words.noneRevokes} />} />
}

function Requests({ org, of: a }: Props) {
  const navigate = useNavigate()
  const { search: { user = '', state = '' } } = useSpot()
  const pages = usePages('GET /orgs/{org}/applications/{app}/requests', { path: { org, app: a.id }, query: { requesterUserId: user || undefined, state: (state || undefined) as 'pending' | undefined } }, p => p.requests)
  const columns: Array<Column<Request>> = [
    { id: 'who', title: words.who, width: 'minmax(0, 1fr)', cell: r => <Name of={r.requesterUserId} /> },
    { id: 'what', title: words.what, width: 'minmax(0, 1.2fr)', cell: what },
    { id: 'scope', title: t.grants.scope, width: 'minmax(0, 1.2fr)', cell: r => <ScopeName of={r.scope} /> },
    { id: 'state', title: words.states, width: '92px', cell: r => t.requests.states[r.state] ?? r.state },
    { id: 'since', title: words.since, width: '108px', least: true, cell: r => <Time at={r.createdAt} date /> },
  ]
  if (pages.error) return <Trouble of={pages.error} retry={() => void pages.refetch()} />
  return (
    <Grid
      label={words.requests} columns={columns} rowId={r => r.id} {...pages.grid} empty={<Empty title={user || state ? t.grid.hidden : words.noneRequests} />}
      onOpen={r => void navigate({ to: '/orgs/$org/requests/$id', params: { org, id: r.id }, search: r.scope === '*' ? {} : { from: a.id } })}
    />
  )
}
