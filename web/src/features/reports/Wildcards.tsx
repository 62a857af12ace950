import { Link, useNavigate, useSearch } from '@tanstack/react-router'
import { call } from '../../api/call.ts'
import { usePages } from '../../api/queries.ts'
import type { DriftFinding } from '../../api/schema.gen.ts'
import { reports as t } from '../../text/reports.ts'
import { Filter } from '../../ui/Filter.tsx'
import { type Column, Grid } from '../../ui/Grid.tsx'
import { Id, Name, ScopeName, SubjectLink } from '../../ui/Id.tsx'
import { Empty, Failed } from '../../ui/States.tsx'
import { through, useCsv } from './Export.tsx'
import type { Of } from './of.ts'

/** Which wildcards in use reach further than they did. */
export function Wildcards({ org, home, frame }: Of) {
  const { since: given = '1' } = useSearch({ from: '/signed-in/orgs/$org/reports' })
  const navigate = useNavigate({ from: '/orgs/$org/reports' })
  const since = Number(given)
  const right = /^\d+$/.test(given) && since > 0 && Number.isSafeInteger(since)
  const query = { since: right ? since : 1 }
  const root = usePages('GET /orgs/{org}/org/wildcard-drift', { path: { org }, query }, p => p.findings, { on: right && home === '' })
  const app = usePages('GET /orgs/{org}/applications/{app}/wildcard-drift', { path: { org, app: home }, query }, p => p.findings, { on: right && home !== '' })
  const pages = home ? app : root
  const first = pages.pages?.[0]
  const taken = useCsv(`wildcards-${org}-${home || 'org'}-since-${query.since}`, ['pattern', 'in', 'role', 'subject', 'scope', 'key'], signal =>
    through(
      cursor => (home ? call('GET /orgs/{org}/applications/{app}/wildcard-drift', { path: { org, app: home }, query: { ...query, cursor, limit: 1000 } }, { signal }) : call('GET /orgs/{org}/org/wildcard-drift', { path: { org }, query: { ...query, cursor, limit: 1000 } }, { signal })),
      page => page.findings.flatMap(f => f.gainedKeys.map(key => [f.pattern, f.via.kind, f.via.role?.id ?? '', f.via.grant?.subject ?? '', f.via.grant?.scope ?? '', key])),
    ))
  const columns: Array<Column<DriftFinding>> = [
    { id: 'pattern', title: t.pattern, width: 'minmax(0, 0.8fr)', cell: f => <Id of={f.pattern} /> },
    { id: 'via', title: t.via, width: 'minmax(0, 1.2fr)', cell: f => <Via org={org} of={f} /> },
    { id: 'gained', title: t.gained, width: 'minmax(0, 1.2fr)', cell: f => <Id of={f.gainedKeys.join(', ')} /> },
  ]
  return (
    <>
      {frame(<><label className="row"><span className="dim">{t.since}</span><Filter first mono label={t.since} value={given} onChange={since => void navigate({ search: old => ({ ...old, since }), replace: true })} /></label><span className="small dim">{t.sinceHint}</span>{pages.list.length > 0 && taken.button}</>)}
      {!right ? <p className="wrong" role="alert">{t.wrongSince}</p> : pages.error ? <Failed of={pages.error} retry={() => void pages.refetch()} /> : (
        <>
          {taken.trouble}
          {first && <p className="dim">{t.between(first.fromVersion, first.toVersion, first.gainedKeys.length, first.removedKeys.length)}</p>}
          <Grid label={t.tabs.wildcards!} columns={columns} rowId={f => `${f.pattern} ${f.via.kind} ${f.via.role?.id ?? f.via.grant?.id ?? ''}`} {...pages.grid} empty={<Empty title={t.noWildcards} />} />
        </>
      )}
    </>
  )
}

function Via({ org, of: { via } }: { org: string; of: DriftFinding }) {
  if (via.role) return <><span className="dim">{t.role}</span> <Link to="/orgs/$org/roles/$id" params={{ org, id: via.role.id }}><Name of={via.role.name} /></Link>{via.grantIds && <span className="dim">, {t.grants(via.grantIds.length)}</span>}</>
  if (via.grant) return <><span className="dim">{t.grantOf}</span> <SubjectLink org={org} of={via.grant.subject} /> <span className="dim">{t.at}</span> <ScopeName of={via.grant.scope} /></>
  return <Name of={via.kind} />
}
