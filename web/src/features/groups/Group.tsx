import { Link, useNavigate, useParams, useSearch } from '@tanstack/react-router'
import { useAsk, usePages } from '../../api/queries.ts'
import type { HomedGrant } from '../../api/schema.gen.ts'
import { t } from '../../text/en.ts'
import { g as text } from '../../text/groups.ts'
import { type Column, Grid } from '../../ui/Grid.tsx'
import { Id, Name, number, ScopeName, SubjectLink, Time } from '../../ui/Id.tsx'
import { Page } from '../../ui/Page.tsx'
import { Tabs } from '../../ui/Tabs.tsx'
import { Empty, Failed, Waiting } from '../../ui/States.tsx'
import { Change } from './Change.tsx'

export function Group() {
  const { org, id } = useParams({ from: '/signed-in/orgs/$org/groups/$id' })
  const { tab = 'members' } = useSearch({ from: '/signed-in/orgs/$org/groups/$id' })
  const group = useAsk('GET /orgs/{org}/org/groups/{id}', { path: { org, id } })
  const count = useAsk('GET /orgs/{org}/org/groups/{id}/members/count', { path: { org, id } })
  const g = group.data?.group
  return (
    <Page title={g?.name ?? id} lead={<><Id of={id} />{g?.description && <> · <Name of={g.description} /></>}</>} full={tab !== 'change'}>
      {group.error ? <Failed of={group.error} retry={() => void group.refetch()} /> : null}
      {group.error && !g ? null : (
        <>
          {g && g.parents.length > 0 && <p>{t.groups.inside} <span className="row inline">{g.parents.map(p => <SubjectLink key={p} org={org} of={'group:' + p} />)}</span></p>}
          <Tabs label={t.person.views} to="/orgs/$org/groups/$id" org={org} id={id} tabs={[['members', t.groups.members + (count.data ? ` ${number.format(count.data.count)}` : '')], ['access', t.groups.access], ['change', text.change]]} />
          {tab === 'members' ? <Members org={org} id={id} /> : tab === 'access' ? <Rows org={org} id={id} /> : g ? <Change key={g.id} org={org} group={g} /> : <Waiting />}
        </>
      )}
    </Page>
  )
}

function Members({ org, id }: { org: string; id: string }) {
  const navigate = useNavigate()
  const pages = usePages('GET /orgs/{org}/org/groups/{id}/members', { path: { org, id } }, p => p.userIds)
  const columns: Array<Column<string>> = [{ id: 'id', title: t.people.id, width: 'minmax(0, 1fr)', cell: u => <Name of={u} /> }]
  if (pages.error) return <Failed of={pages.error} retry={() => void pages.refetch()} />
  return (
    <Grid
      label={t.groups.members} columns={columns} rowId={u => u} {...pages.grid} empty={<Empty title={t.groups.noMembers}><p>{t.groups.noMembersHint}</p></Empty>}
      onOpen={user => void navigate({ to: '/orgs/$org/people/$id', params: { org, id: user } })}
    />
  )
}

function Rows({ org, id }: { org: string; id: string }) {
  const pages = usePages('GET /orgs/{org}/org/grants', { path: { org }, query: { subject: 'group:' + id, homes: 'all' } }, p => p.grants)
  const supply = useAsk('GET /orgs/{org}/org/roles', { path: { org }, query: { limit: 1000 } })
  const names = new Map(supply.data?.roles.map(r => [r.id, r.name]) ?? [])
  const unavailable = pages.pages?.flatMap(p => p.unavailable ?? []) ?? []
  const columns: Array<Column<HomedGrant>> = [
    { id: 'what', title: t.grants.what, width: 'minmax(0, 1.2fr)', cell: g => (g.roleId ? <Link to="/orgs/$org/roles/$id" params={{ org, id: g.roleId }}><Name of={names.get(g.roleId) ?? g.roleId} /></Link> : <Id of={g.pattern ?? ''} />) },
    { id: 'scope', title: t.grants.scope, width: 'minmax(0, 1fr)', cell: g => <ScopeName of={g.scope} /> },
    { id: 'until', title: t.grants.until, width: '112px', cell: g => (g.expiresAt ? <Time at={g.expiresAt} date /> : <span className="dim">{t.grants.forever}</span>) },
  ]
  if (pages.error) return <Failed of={pages.error} retry={() => void pages.refetch()} />
  if (!pages.pages) return <Waiting />
  return (
    <>
      {unavailable.length > 0 && <div className="note mind" role="alert"><p>{t.person.missing} {unavailable.map(u => `${u.application || t.person.root} (${u.code})`).join(', ')}</p></div>}
      <Grid label={t.groups.access} columns={columns} rowId={g => g.id} {...pages.grid} empty={<Empty title={t.groups.noAccess} />} />
    </>
  )
}
