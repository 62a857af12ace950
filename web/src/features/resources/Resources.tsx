import { Link, useNavigate, useSearch } from '@tanstack/react-router'
import { holdsAnywhere } from '../../api/gates.ts'
import { useAsk, useMe, useOrg, usePages } from '../../api/queries.ts'
import type { RecordedScope } from '../../api/schema.gen.ts'
import { visible } from '../../domain/visible.ts'
import { t } from '../../text/en.ts'
import { rs } from '../../text/resources.ts'
import { Filter } from '../../ui/Filter.tsx'
import { type Column, Grid } from '../../ui/Grid.tsx'
import { Id, ScopeLink } from '../../ui/Id.tsx'
import { Page } from '../../ui/Page.tsx'
import { Empty, Failed, Waiting } from '../../ui/States.tsx'

const read = 'cloud.applications.read'

/** The scopes that an application has recorded, and a way to any other. */
export function Resources() {
  const org = useOrg()
  const navigate = useNavigate({ from: '/orgs/$org/resources' })
  const { home, q = '' } = useSearch({ from: '/signed-in/orgs/$org/resources' })
  const me = useMe()
  const may = holdsAnywhere(me.data, read)
  const apps = useAsk('GET /orgs/{org}/applications', { path: { org }, query: { limit: 200 } }, { on: may })
  const linked = apps.data?.applications.filter(a => a.state !== 'registered') ?? []
  const app = home ?? linked[0]?.id ?? ''
  const pages = usePages('GET /orgs/{org}/applications/{app}/scopes', { path: { org, app }, query: { q } }, p => p.scopes, { on: app !== '' })
  const set = (next: { home?: string; q?: string }) => void navigate({ search: old => ({ ...old, ...next }), replace: true })
  const open = (scope: string) => void navigate({ to: '/orgs/$org/resources/$scope', params: { org, scope } })
  const columns: Array<Column<RecordedScope>> = [
    { id: 'scope', title: rs.scope, width: 'minmax(0, 1fr)', cell: s => <Id of={s.scope} /> },
    { id: 'parents', title: rs.parents, width: 'minmax(0, 1fr)', cell: s => s.parents.map((p, i) => <span key={p}>{i > 0 && ', '}<ScopeLink org={org} of={p} /></span>) },
  ]
  const typed = q.includes(':') && !pages.list.some(s => s.scope === q)
  return (
    <Page title={rs.title} lead={rs.lead} full>
      <div className="filters">
        {linked.length > 0 && <select className="input" aria-label={rs.application} value={app} onChange={e => set({ home: e.target.value })}>{linked.map(a => <option key={a.id} value={a.id}>{visible(a.name)}</option>)}</select>}
        <Filter first mono label={rs.find} value={q} onChange={q => set({ q })} />
        {typed && <Link className="button" to="/orgs/$org/resources/$scope" params={{ org, scope: q }}>{rs.open} <Id of={q} /></Link>}
      </div>
      {me.data && !may && !home ? <Empty title={t.state.forbidden}><p>{t.needs(read)}</p></Empty>
        : apps.error && !home ? <Failed of={apps.error} retry={() => void apps.refetch()} />
        : pages.error ? <Failed of={pages.error} retry={() => void pages.refetch()} />
        : apps.data && !app ? <Empty title={rs.noApps} />
        : !pages.pages ? <Waiting />
        : <Grid label={rs.title} columns={columns} rowId={s => s.scope} {...pages.grid} onOpen={s => open(s.scope)} empty={<Empty title={q ? t.grid.hidden : rs.none}><p>{rs.noneHint}</p></Empty>} />}
    </Page>
  )
}
