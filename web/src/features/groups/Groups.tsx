import { Link, useNavigate, useSearch } from '@tanstack/react-router'
import { useEffect, useMemo } from 'react'
import { holds } from '../../api/gates.ts'
import { useMe, usePages, useOrg } from '../../api/queries.ts'
import { type Branch, branches } from '../../domain/tree.ts'
import { t } from '../../text/en.ts'
import { g } from '../../text/groups.ts'
import { Button } from '../../ui/Button.tsx'
import { Filter } from '../../ui/Filter.tsx'
import { type Column, Grid } from '../../ui/Grid.tsx'
import { Id, Name } from '../../ui/Id.tsx'
import { Page } from '../../ui/Page.tsx'
import { Empty, Failed } from '../../ui/States.tsx'
import { key } from './gate.ts'

const columns: Array<Column<Branch>> = [
  { id: 'name', title: t.groups.name, width: 'minmax(0, 1.6fr)', cell: b => <span style={{ paddingLeft: b.depth * 20 }}>{b.depth > 0 && <span className="dim" aria-hidden="true">└ </span>}<Name of={b.group.name} />{b.group.virtual && <span className="tag">{t.groups.virtual}</span>}</span> },
  { id: 'id', title: t.groups.id, width: 'minmax(0, 1fr)', cell: b => <Id of={b.group.id} /> },
  { id: 'about', title: t.groups.about, width: 'minmax(0, 1fr)', least: true, cell: b => <span className="dim"><Name of={b.group.description ?? ''} /></span> },
]

export function Groups() {
  const org = useOrg()
  const navigate = useNavigate({ from: '/orgs/$org/groups' })
  const { q = '' } = useSearch({ from: '/signed-in/orgs/$org/groups' })
  const may = holds(useMe().data, key) === 'yes'
  const pages = usePages('GET /orgs/{org}/org/groups', { path: { org }, query: { q } }, p => p.groups)
  const { onAll, grid: { hasMore } } = pages
  useEffect(() => {
    if (hasMore && !q) onAll() // a tree needs all of them
  }, [hasMore, q, onAll])
  const rows = useMemo(() => (q ? pages.list.map(group => ({ group, depth: 0, at: group.id })) : branches(pages.list)), [pages.list, q])
  return (
    <Page
      title={t.groups.title} lead={t.groups.lead} full
      actions={may ? <Link className="button main" to="/orgs/$org/new-group" params={{ org }}>{g.new}</Link> : <Button reason={t.needs(key)}>{g.new}</Button>}
    >
      <div className="filters"><Filter first label={t.groups.find} value={q} onChange={q => void navigate({ search: { q }, replace: true })} /></div>
      {pages.error ? <Failed of={pages.error} retry={() => void pages.refetch()} /> : (
        <Grid
          label={t.groups.title} columns={columns} rowId={b => b.at} {...pages.grid} rows={rows}
          onOpen={b => void navigate({ to: '/orgs/$org/groups/$id', params: { org, id: b.group.id } })}
          empty={<Empty title={q ? t.grid.hidden : t.groups.none} />}
        />
      )}
    </Page>
  )
}
