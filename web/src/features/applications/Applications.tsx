import { Link, useNavigate, useSearch } from '@tanstack/react-router'
import { holds } from '../../api/gates.ts'
import { useMe, useOrg, usePages } from '../../api/queries.ts'
import type { Application } from '../../api/schema.gen.ts'
import { visible } from '../../domain/visible.ts'
import { apps } from '../../text/applications.ts'
import { t } from '../../text/en.ts'
import { Button } from '../../ui/Button.tsx'
import { Filter } from '../../ui/Filter.tsx'
import { type Column, Grid } from '../../ui/Grid.tsx'
import { Id, Name, Time } from '../../ui/Id.tsx'
import { Page } from '../../ui/Page.tsx'
import { Empty, Failed } from '../../ui/States.tsx'
import { HealthTag } from './State.tsx'

const registers = 'cloud.applications.register_application'

export function Applications() {
  const org = useOrg()
  const navigate = useNavigate({ from: '/orgs/$org/applications' })
  const search = useSearch({ from: '/signed-in/orgs/$org/applications' })
  const { q = '', state = '' } = search
  const me = useMe()
  const pages = usePages('GET /orgs/{org}/applications', { path: { org }, query: { state: (state || undefined) as 'linked' | undefined } }, p => p.applications, { limit: 200 }) // an org has no more
  const set = (next: Partial<typeof search>) => void navigate({ search: old => ({ ...old, ...next }), replace: true })
  const words = q.toLowerCase().split(/\s+/).filter(Boolean)
  const rows = pages.list.filter(a => words.every(w => [a.id, a.name, ...a.namespaces].some(text => text.toLowerCase().includes(w))))
  const may = holds(me.data, registers)
  const sees = holds(me.data, 'cloud.applications.read')
  const columns: Array<Column<Application>> = [
    { id: 'name', title: apps.name, width: 'minmax(0, 1.2fr)', cell: a => <><Link to="/orgs/$org/applications/$id" params={{ org, id: a.id }}><Name of={a.name} /></Link> <span className="dim"><Id of={a.id} /></span></> },
    { id: 'health', title: apps.health, width: '172px', cell: a => <HealthTag of={a} /> },
    { id: 'namespaces', title: apps.namespaces, width: 'minmax(0, 1fr)', cell: a => <Id of={a.namespaces.map(visible).join(', ')} /> },
    { id: 'state', title: apps.state, width: '88px', least: true, cell: a => <span className="dim">{apps.states[a.state] ?? a.state}</span> },
    { id: 'asked', title: apps.asked, width: '148px', least: true, cell: a => <span className="dim">{a.health?.checkedAt ? <Time at={a.health.checkedAt} /> : apps.never}</span> },
  ]
  return (
    <Page
      title={apps.title} lead={apps.lead} full
      actions={may === 'yes' ? <Link className="button main" to="/orgs/$org/applications/new" params={{ org }}>{apps.register}</Link> : <Button reason={t.needs(registers)}>{apps.register}</Button>}
    >
      <div className="filters">
        <Filter first label={apps.find} value={q} onChange={q => set({ q })} />
        <select className="input" aria-label={apps.state} value={state} onChange={e => set({ state: e.target.value || undefined })}>
          <option value="">{apps.anyState}</option>
          {Object.entries(apps.states).map(([id, label]) => <option key={id} value={id}>{label}</option>)}
        </select>
      </div>
      {pages.error ? <Failed of={pages.error} retry={() => void pages.refetch()} /> : (
        <Grid
          label={apps.title} columns={columns} rowId={a => a.id} {...pages.grid} rows={rows}
          onOpen={a => void navigate({ to: '/orgs/$org/applications/$id', params: { org, id: a.id } })}
          empty={q || state ? <Empty title={t.grid.hidden} /> : sees === 'yes' ? <Empty title={apps.none}><p>{apps.noneHint}</p></Empty> : <Empty title={apps.notYours}><p>{t.needs('cloud.applications.read')}</p></Empty>}
        />
      )}
    </Page>
  )
}
