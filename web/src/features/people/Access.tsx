import { Link, useNavigate, useSearch } from '@tanstack/react-router'
import { useMemo } from 'react'
import { useAsk, usePages, useVocabulary } from '../../api/queries.ts'
import type { Grant } from '../../api/schema.gen.ts'
import { homeOf } from '../../domain/catalog.ts'
import { type Way, wayOf, ways } from '../../domain/subjects.ts'
import { t } from '../../text/en.ts'
import { Filter } from '../../ui/Filter.tsx'
import { type Column, Grid } from '../../ui/Grid.tsx'
import { Id, Name, ScopeName, SubjectLink, Time, Until } from '../../ui/Id.tsx'
import { Empty, Failed, Waiting } from '../../ui/States.tsx'

/** Every row that reaches a person, with the way by which it does; revokes in front. */
export function Access({ org, id, active }: { org: string; id: string; active: boolean }) {
  const navigate = useNavigate({ from: '/orgs/$org/people/$id' })
  const { way, q = '' } = useSearch({ from: '/signed-in/orgs/$org/people/$id' })
  const words = useVocabulary()
  const supply = useAsk('GET /orgs/{org}/org/subject-access', { path: { org }, query: { userId: id } })
  const own = usePages('GET /orgs/{org}/org/grants', { path: { org }, query: { subject: 'user:' + id, homes: 'all' } }, p => p.grants)
  const revokes = usePages('GET /orgs/{org}/org/revokes', { path: { org }, query: { userId: id, homes: 'all' } }, p => p.revokes)
  const rows = useMemo(() => {
    const inherited = supply.data?.grants.filter(g => wayOf(g.subject) !== 'own') ?? []
    const all: Grant[] = [...own.list, ...inherited]
    return all.sort((a, b) => ways.indexOf(wayOf(a.subject)) - ways.indexOf(wayOf(b.subject)) || compare(a.scope, b.scope))
  }, [own.list, supply.data])
  const names = new Map(supply.data?.roles.map(r => [r.id, r.name]) ?? [])
  const counts = new Map<Way, number>()
  for (const g of rows) counts.set(wayOf(g.subject), (counts.get(wayOf(g.subject)) ?? 0) + 1)
  const text = q.toLowerCase()
  const shown = rows.filter(g => (!way || wayOf(g.subject) === way) && (!text || [g.subject, g.scope, g.roleId, g.pattern, names.get(g.roleId ?? '')].some(v => v?.toLowerCase().includes(text))))
  const columns: Array<Column<Grant>> = [
    { id: 'what', title: t.grants.what, width: 'minmax(0, 1.2fr)', cell: g => (g.roleId ? <Link to="/orgs/$org/roles/$id" params={{ org, id: g.roleId }}><Name of={names.get(g.roleId) ?? g.roleId} /></Link> : <Id of={g.pattern ?? ''} />) },
    { id: 'scope', title: t.grants.scope, width: 'minmax(0, 1fr)', cell: g => <ScopeName of={g.scope} /> },
    { id: 'way', title: t.person.way, width: 'minmax(0, 1fr)', cell: g => (wayOf(g.subject) === 'own' ? <span className="tag">{t.ways.own}</span> : <SubjectLink org={org} of={g.subject} />) },
    { id: 'until', title: t.grants.until, width: '112px', least: true, cell: g => <Until at={g.expiresAt} /> },
  ]
  const unavailable = [...(own.pages ?? []), ...(revokes.pages ?? [])].flatMap(p => p.unavailable ?? [])
  return (
    <>
      {!active && <div className="note no" role="alert"><p>{t.person.inactiveHint}</p></div>}
      {unavailable.length > 0 && <div className="note mind" role="alert"><p>{t.person.missing} {[...new Set(unavailable.map(u => `${u.application || t.person.root} (${u.code})`))].join(', ')}</p></div>}
      {[supply, own, revokes].map((s, i) => (s.error ? <Failed key={i} of={s.error} retry={() => void s.refetch()} /> : null))}
      {revokes.list.length > 0 && (
        <section className="card">
          <header><h2>{t.person.revokes(revokes.list.length)}</h2><span className="small dim">{t.explain.revokeHint}</span></header>
          <ul className="list bounded">
            {revokes.list.slice(0, 100).map(r => <li key={r.id}><span><span className="tag no">{t.explain.revoke}</span> <Id of={r.pattern} /> {r.scope === '*' ? t.everywhere : <>{t.explain.at} <Id of={r.scope} /></>}</span><span className="small dim"><Time at={r.createdAt} date /></span></li>)}
          </ul>
        </section>
      )}
      <div className="filters">
        <Filter first label={t.person.filter} value={q} onChange={q => void navigate({ search: old => ({ ...old, q }), replace: true })} />
        <div className="chips" role="group" aria-label={t.person.way}>
          <button type="button" className="chip" aria-pressed={!way} onClick={() => void navigate({ search: old => ({ ...old, way: undefined }) })}>{t.person.all(rows.length)}</button>
          {ways.filter(w => counts.has(w)).map(w => (
            <button key={w} type="button" className="chip" aria-pressed={way === w} onClick={() => void navigate({ search: old => ({ ...old, way: w }) })}>{t.ways[w]} {counts.get(w)}</button>
          ))}
        </div>
      </div>
      {(supply.data || own.pages) && !words.isPending ? (
        <Grid
          label={t.person.access} rows={shown} columns={columns} rowId={g => g.id} isLoading={own.grid.isLoading || supply.isFetching} hasMore={own.grid.hasMore} onMore={own.grid.onMore}
          onOpen={g => void navigate({ to: '/orgs/$org/grants', params: { org }, search: { open: g.id, subject: g.subject, home: homeOf(words.data, g.scope) } })}
          empty={<Empty title={rows.length ? t.grid.hidden : t.person.nothing} />}
        />
      ) : supply.error && own.error ? null : <Waiting />}
    </>
  )
}

const compare = (a: string, b: string) => (a < b ? -1 : a > b ? 1 : 0)
