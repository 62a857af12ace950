import { Link } from '@tanstack/react-router'
import { call } from '../../api/call.ts'
import { usePages } from '../../api/queries.ts'
import type { Entitlement, EntitlementSource, Entitlements } from '../../api/schema.gen.ts'
import { t as all } from '../../text/en.ts'
import { reports as t } from '../../text/reports.ts'
import { type Column, Grid } from '../../ui/Grid.tsx'
import { Id, Name, ScopeName, SubjectName } from '../../ui/Id.tsx'
import { Empty, Failed } from '../../ui/States.tsx'
import { through, useCsv } from './Export.tsx'
import type { Of } from './of.ts'

interface Row extends Entitlement {
  userId: string
  active: boolean
}

const rowsOf = (page: Entitlements): Row[] => page.users.flatMap(u => u.entitlements.map(e => ({ ...e, userId: u.userId, active: u.active })))

/** What each person's rows confer: a row for each key. */
export function Entitled({ org, home, user, frame }: Of & { user: string }) {
  const query = { userId: user || undefined }
  const root = usePages('GET /orgs/{org}/org/entitlements', { path: { org }, query }, rowsOf, { on: home === '', limit: 200 })
  const app = usePages('GET /orgs/{org}/applications/{app}/entitlements', { path: { org, app: home }, query }, rowsOf, { on: home !== '', limit: 200 })
  const pages = home ? app : root
  const taken = useCsv(`entitlements-${org}-${home || 'org'}`, ['user', 'active', 'key', 'held', 'subject', 'role', 'pattern', 'scope', 'expires', 'grant'], signal =>
    through(
      cursor => (home ? call('GET /orgs/{org}/applications/{app}/entitlements', { path: { org, app: home }, query: { ...query, cursor, limit: 200 } }, { signal }) : call('GET /orgs/{org}/org/entitlements', { path: { org }, query: { ...query, cursor, limit: 200 } }, { signal })),
      page => rowsOf(page).flatMap(r => r.sources.map(s => [r.userId, r.active, r.key, r.held, s.subject, s.roleId, s.pattern, s.scope, s.expiresAt ? new Date(s.expiresAt).toISOString() : '', s.grantId])),
    ))
  const columns: Array<Column<Row>> = [
    { id: 'user', title: t.person, width: 'minmax(0, 0.7fr)', cell: r => <><Link to="/orgs/$org/people/$id" params={{ org, id: r.userId }}><Name of={r.userId} /></Link>{!r.active && <> <span className="tag no">{t.inactive}</span></>}</> },
    { id: 'key', title: t.key, width: 'minmax(0, 1fr)', cell: r => <><Link to="/orgs/$org/explain" params={{ org }} search={{ user: r.userId, key: r.key, scope: r.sources[0]?.scope ?? '*' }}><Id of={r.key} /></Link>{!r.held && <> <span className="tag no">{t.revoked}</span></>}</> },
    { id: 'by', title: t.by, width: 'minmax(0, 1.6fr)', least: true, cell: r => r.sources[0] && <><Source of={r.sources[0]} />{r.sources.length > 1 && <span className="dim"> {t.byMore(r.sources.length - 1)}</span>}</> },
  ]
  return (
    <>
      {frame(pages.list.length > 0 && taken.button)}
      {taken.trouble}
      {pages.error ? <Failed of={pages.error} retry={() => void pages.refetch()} /> : <Grid label={t.tabs.entitlements!} columns={columns} rowId={r => `${r.userId} ${r.key}`} {...pages.grid} empty={<Empty title={user ? all.grid.hidden : t.noEntitlements} />} />}
    </>
  )
}

function Source({ of: s }: { of: EntitlementSource }) {
  return <>{s.roleId ? <Name of={s.roleId} /> : <Id of={s.pattern} />} <span className="dim">{all.explain.at}</span> <ScopeName of={s.scope} /> <span className="dim">{all.explain.to}</span> <SubjectName of={s.subject} /></>
}
