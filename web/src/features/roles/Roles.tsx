import { Link, useNavigate, useSearch } from '@tanstack/react-router'
import { holds } from '../../api/gates.ts'
import { useMe, usePages, useOrg } from '../../api/queries.ts'
import type { Role } from '../../api/schema.gen.ts'
import { t } from '../../text/en.ts'
import { r } from '../../text/roles.ts'
import { Button } from '../../ui/Button.tsx'
import { Filter } from '../../ui/Filter.tsx'
import { type Column, Grid } from '../../ui/Grid.tsx'
import { Id, Name } from '../../ui/Id.tsx'
import { Page } from '../../ui/Page.tsx'
import { Empty, Failed } from '../../ui/States.tsx'
import { keyOf } from './gate.ts'

const columns: Array<Column<Role>> = [
  { id: 'name', title: t.roles.name, width: 'minmax(0, 1fr)', cell: r => <><Name of={r.name} /> {r.requestable && <span className="tag">{t.roles.requestable}</span>}</> },
  { id: 'id', title: t.roles.id, width: 'minmax(0, 1fr)', cell: r => <Id of={r.id} /> },
  { id: 'patterns', title: t.roles.patterns, width: 'minmax(0, 1.6fr)', least: true, cell: r => <span className="dim mono">{r.patterns.join('  ')}</span> },
]

export function Roles() {
  const org = useOrg()
  const navigate = useNavigate({ from: '/orgs/$org/roles' })
  const { q = '' } = useSearch({ from: '/signed-in/orgs/$org/roles' })
  const me = useMe().data
  const may = [keyOf([]), keyOf(['cloud.*'])].some(key => holds(me, key) === 'yes')
  const pages = usePages('GET /orgs/{org}/org/roles', { path: { org }, query: { q } }, p => p.roles)
  return (
    <Page
      title={t.roles.title} lead={t.roles.lead} full
      actions={may ? <Link className="button main" to="/orgs/$org/new-role" params={{ org }}>{r.new}</Link> : <Button reason={t.needs(keyOf([]))}>{r.new}</Button>}
    >
      <div className="filters"><Filter first label={t.roles.find} value={q} onChange={q => void navigate({ search: { q }, replace: true })} /></div>
      {pages.error ? <Failed of={pages.error} retry={() => void pages.refetch()} /> : (
        <Grid
          label={t.roles.title} columns={columns} rowId={r => r.id} {...pages.grid} onOpen={r => void navigate({ to: '/orgs/$org/roles/$id', params: { org, id: r.id } })}
          empty={<Empty title={q ? t.grid.hidden : t.roles.none} />}
        />
      )}
    </Page>
  )
}
