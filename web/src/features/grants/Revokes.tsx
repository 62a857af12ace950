import { Link, useNavigate, useSearch } from '@tanstack/react-router'
import { useAsk, useOrg, usePages } from '../../api/queries.ts'
import type { Revoke } from '../../api/schema.gen.ts'
import { t } from '../../text/en.ts'
import { Filter } from '../../ui/Filter.tsx'
import { type Column, Grid } from '../../ui/Grid.tsx'
import { Id, Name, ScopeName, Time } from '../../ui/Id.tsx'
import { Page } from '../../ui/Page.tsx'
import { Empty, Failed } from '../../ui/States.tsx'
import { Homes } from './Homes.tsx'

export function Revokes() {
  const org = useOrg()
  const navigate = useNavigate({ from: '/orgs/$org/revokes' })
  const search = useSearch({ from: '/signed-in/orgs/$org/revokes' })
  const { home = '', user = '', scope = '' } = search
  const query = { userId: user, scope: scope || undefined }
  const path = { org, app: home }
  const root = usePages('GET /orgs/{org}/org/revokes', { path: { org }, query }, p => p.revokes as Revoke[], { on: home === '' })
  const app = usePages('GET /orgs/{org}/applications/{app}/revokes', { path, query }, p => p.revokes, { on: home !== '' })
  const rootCount = useAsk('GET /orgs/{org}/org/revokes/count', { path: { org }, query }, { on: home === '' })
  const appCount = useAsk('GET /orgs/{org}/applications/{app}/revokes/count', { path, query }, { on: home !== '' })
  const pages = home ? app : root
  const set = (next: Partial<typeof search>, replace = true) => void navigate({ search: old => ({ ...old, ...next }), replace })
  const columns: Array<Column<Revoke>> = [
    { id: 'user', title: t.revokes.user, width: 'minmax(0, 1fr)', cell: r => <Link to="/orgs/$org/people/$id" params={{ org, id: r.userId }}><Name of={r.userId} /></Link> },
    { id: 'pattern', title: t.revokes.pattern, width: 'minmax(0, 1.2fr)', cell: r => <Id of={r.pattern} /> },
    { id: 'scope', title: t.grants.scope, width: 'minmax(0, 1.2fr)', cell: r => <ScopeName of={r.scope} /> },
    { id: 'by', title: t.grants.by, width: 'minmax(0, 0.6fr)', least: true, cell: r => <span className="dim"><Name of={r.provenance.actorUserId ?? r.provenance.kind} /></span> },
    { id: 'made', title: t.grants.made, width: '108px', least: true, cell: r => <span className="dim"><Time at={r.createdAt} date /></span> },
  ]
  return (
    <Page title={t.revokes.title} lead={t.revokes.lead} full>
      <div className="filters">
        <Homes org={org} home={home} onChange={home => set({ home, scope: undefined }, false)} />
        <Filter first label={t.revokes.user} value={user} onChange={user => set({ user })} />
        {home && <Filter mono label={t.grants.scope} placeholder={t.grants.scopeHint} value={scope} onChange={scope => set({ scope })} />}
      </div>
      {pages.error ? <Failed of={pages.error} retry={() => void pages.refetch()} /> : (
        <Grid label={t.revokes.title} columns={columns} rowId={r => r.id} {...pages.grid} total={(home ? appCount : rootCount).data?.count} empty={<Empty title={user || scope ? t.grid.hidden : t.revokes.none} />} />
      )}
    </Page>
  )
}
