import { Link, useParams } from '@tanstack/react-router'
import { holds } from '../../api/gates.ts'
import { useAsk, useMe, usePages } from '../../api/queries.ts'
import type { HomedGrant } from '../../api/schema.gen.ts'
import { t as all } from '../../text/en.ts'
import { keys, services as t } from '../../text/keys.ts'
import { Button } from '../../ui/Button.tsx'
import { type Column, Grid } from '../../ui/Grid.tsx'
import { Id, Name, ScopeName, SubjectName, Time, Until } from '../../ui/Id.tsx'
import { Page } from '../../ui/Page.tsx'
import { Empty, Failed, Loaded } from '../../ui/States.tsx'

const manages = 'cloud.applications.manage_credentials'
const gives = 'authz_internal.access.manage_grants'

/** A service: its rows of all homes, with the keys that act as it beside them. */
export function Service() {
  const { org, id } = useParams({ from: '/signed-in/orgs/$org/services/$id' })
  const me = useMe()
  const pages = usePages('GET /orgs/{org}/org/grants', { path: { org }, query: { subject: 'service:' + id, homes: 'all' } }, p => p.grants)
  const supply = useAsk('GET /orgs/{org}/org/subject-access', { path: { org }, query: { serviceId: id } })
  const may = holds(me.data, manages) === 'yes'
  const live = useAsk('GET /orgs/{org}/api-keys', { path: { org }, query: { kind: 'principal', revoked: false, limit: 1000 } }, { on: may })
  const inherited = (supply.data?.grants ?? []).filter(g => g.subject !== 'service:' + id)
  const rows = [...pages.list, ...(inherited as HomedGrant[])]
  const unavailable = pages.pages?.flatMap(p => p.unavailable ?? []) ?? []
  const columns: Array<Column<HomedGrant>> = [
    { id: 'what', title: all.grants.what, width: 'minmax(0, 1.2fr)', cell: g => (g.roleId ? <Link to="/orgs/$org/roles/$id" params={{ org, id: g.roleId }}><Name of={supply.data?.roles.find(r => r.id === g.roleId)?.name ?? g.roleId} /></Link> : <Id of={g.pattern ?? ''} />) },
    { id: 'scope', title: all.grants.scope, width: 'minmax(0, 1fr)', cell: g => <ScopeName of={g.scope} /> },
    { id: 'way', title: all.person.way, width: 'minmax(0, 0.6fr)', cell: g => (g.subject === 'service:' + id ? <span className="tag">{all.ways.own}</span> : <SubjectName of={g.subject} />) },
    { id: 'until', title: all.grants.until, width: '108px', least: true, cell: g => <Until at={g.expiresAt} /> },
  ]
  return (
    <Page
      title={id} lead={t.lead}
      actions={
        <>
          <Link className="button" to="/orgs/$org/explain" params={{ org }} search={{ service: id }}>{t.explain}</Link>
          {holds(me.data, gives) === 'yes' ? <Link className="button" to="/orgs/$org/grants/new" params={{ org }} search={{ subject: 'service:' + id }}>{t.give}</Link> : <Button reason={all.needs(gives)}>{t.give}</Button>}
        </>
      }
    >
      {unavailable.length > 0 && <div className="note mind" role="alert"><p>{all.person.missing} {unavailable.map(u => `${u.application || t.root} (${u.code})`).join(', ')}</p></div>}
      {supply.error ? <Failed of={supply.error} retry={() => void supply.refetch()} /> : null}
      <div className="columns explained">
        {pages.error ? <Failed of={pages.error} retry={() => void pages.refetch()} /> : <Grid label={t.rows} columns={columns} rowId={g => g.id} {...pages.grid} rows={rows} empty={<Empty title={t.noRows} />} />}
        <section className="card" aria-label={t.keys}>
          <header><h2>{t.keys}</h2>{may ? <Link className="button small" to="/orgs/$org/keys/new" params={{ org }} search={{ kind: 'principal', service: id }}>{keys.new}</Link> : <Button small reason={all.needs(manages)}>{keys.new}</Button>}</header>
          {me.data && !may ? <p className="dim">{all.needs(manages)}</p> : (
            <Loaded of={live} lines={2}>
              {({ apiKeys }) => {
                const own = apiKeys.filter(k => k.serviceId === id)
                return own.length === 0 ? <p className="dim">{t.noKeys}</p> : (
                  <ul className="list">{own.map(k => <li key={k.id}><Link to="/orgs/$org/keys/$id" params={{ org, id: k.id }}><Name of={k.name} /></Link><span className="small dim">{k.lastUsedAt ? <>{keys.used} <Time at={k.lastUsedAt} /></> : t.notUsed}</span></li>)}</ul>
                )
              }}
            </Loaded>
          )}
        </section>
      </div>
    </Page>
  )
}
