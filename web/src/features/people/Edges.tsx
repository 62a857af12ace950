import { Link } from '@tanstack/react-router'
import { usePages } from '../../api/queries.ts'
import type { Edge } from '../../api/schema.gen.ts'
import { p } from '../../text/people.ts'
import { t } from '../../text/en.ts'
import { type Column, Grid } from '../../ui/Grid.tsx'
import { Name } from '../../ui/Id.tsx'
import { Empty, Failed } from '../../ui/States.tsx'

/** Who reports to whom. */
export function Edges({ org, onOpen }: { org: string; onOpen: (id: string) => void }) {
  const pages = usePages('GET /orgs/{org}/org/reporting-edges', { path: { org } }, of => of.edges)
  const columns: Array<Column<Edge>> = [
    { id: 'user', title: t.people.id, width: 'minmax(0, 1fr)', cell: e => <Name of={e.userId} /> },
    { id: 'manager', title: p.manager, width: 'minmax(0, 1fr)', cell: e => <><span className="dim">{t.person.manager}</span> <Link to="/orgs/$org/people/$id" params={{ org, id: e.managerUserId }}><Name of={e.managerUserId} /></Link></> },
  ]
  if (pages.error) return <Failed of={pages.error} retry={() => void pages.refetch()} />
  return <Grid label={p.managersList} columns={columns} rowId={e => e.userId} {...pages.grid} onOpen={e => onOpen(e.userId)} empty={<Empty title={p.noEdges} />} />
}
