import { Link } from '@tanstack/react-router'
import { call } from '../../api/call.ts'
import { usePages } from '../../api/queries.ts'
import type { SodViolations, Violation } from '../../api/schema.gen.ts'
import { t as all } from '../../text/en.ts'
import { reports as t } from '../../text/reports.ts'
import { type Column, Grid } from '../../ui/Grid.tsx'
import { Id, Name } from '../../ui/Id.tsx'
import { Empty, Failed } from '../../ui/States.tsx'
import { through, useCsv } from './Export.tsx'
import type { Of } from './of.ts'

interface Row {
  userId: string
  violation: Violation
}

const rowsOf = (page: SodViolations): Row[] => page.users.flatMap(u => u.violations.map(violation => ({ userId: u.userId, violation })))

/** Who breaks the separation of duties: a row for each constraint that somebody breaks. */
export function Sod({ org, home, user, frame }: Of & { user: string }) {
  const query = { userId: user || undefined }
  const root = usePages('GET /orgs/{org}/org/sod-violations', { path: { org }, query }, rowsOf, { on: home === '' })
  const app = usePages('GET /orgs/{org}/applications/{app}/sod-violations', { path: { org, app: home }, query }, rowsOf, { on: home !== '' })
  const pages = home ? app : root
  const taken = useCsv(`separation-of-duties-${org}-${home || 'org'}`, ['user', 'constraint', 'description', 'set', 'key'], signal =>
    through(
      cursor => (home ? call('GET /orgs/{org}/applications/{app}/sod-violations', { path: { org, app: home }, query: { ...query, cursor, limit: 1000 } }, { signal }) : call('GET /orgs/{org}/org/sod-violations', { path: { org }, query: { ...query, cursor, limit: 1000 } }, { signal })),
      page => rowsOf(page).flatMap(r => r.violation.sets.flatMap(s => s.keys.map(key => [r.userId, r.violation.constraintId, r.violation.description, s.setIndex + 1, key]))),
    ))
  const columns: Array<Column<Row>> = [
    { id: 'user', title: t.person, width: 'minmax(0, 0.6fr)', cell: r => <Link to="/orgs/$org/people/$id" params={{ org, id: r.userId }}><Name of={r.userId} /></Link> },
    { id: 'constraint', title: t.constraint, width: 'minmax(0, 0.7fr)', cell: r => <Id of={r.violation.constraintId} /> },
    { id: 'why', title: t.why, width: 'minmax(0, 1fr)', least: true, cell: r => <span className="dim"><Name of={r.violation.description ?? ''} /></span> },
    { id: 'holds', title: t.holds, width: 'minmax(0, 1.2fr)', cell: r => r.violation.sets.map((s, i) => <span key={s.setIndex}>{i > 0 && <span className="dim"> {t.and} </span>}<Id of={s.keys.join(', ')} /></span>) },
  ]
  return (
    <>
      {frame(pages.list.length > 0 && taken.button)}
      {taken.trouble}
      {pages.error ? <Failed of={pages.error} retry={() => void pages.refetch()} /> : <Grid label={t.tabs.sod!} columns={columns} rowId={r => `${r.userId} ${r.violation.constraintId}`} {...pages.grid} empty={<Empty title={user ? all.grid.hidden : t.noSod}>{!user && <p>{t.noSodHint}</p>}</Empty>} />}
    </>
  )
}
