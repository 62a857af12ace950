import { useNavigate, useParams, useSearch } from '@tanstack/react-router'
import { holds } from '../../api/gates.ts'
import { useAsk, useMe, usePages, useVocabulary } from '../../api/queries.ts'
import type { Grant, Role as RoleOf } from '../../api/schema.gen.ts'
import { type Leaf, named } from '../../domain/catalog.ts'
import { t } from '../../text/en.ts'
import { r as text } from '../../text/roles.ts'
import { type Column, Grid } from '../../ui/Grid.tsx'
import { Id, Name, ScopeName, SubjectLink, Until } from '../../ui/Id.tsx'
import { Page } from '../../ui/Page.tsx'
import { Tabs } from '../../ui/Tabs.tsx'
import { Empty, Failed, Waiting } from '../../ui/States.tsx'
import { Change } from './Change.tsx'

export function Role() {
  const { org, id } = useParams({ from: '/signed-in/orgs/$org/roles/$id' })
  const { tab = 'keys' } = useSearch({ from: '/signed-in/orgs/$org/roles/$id' })
  const role = useAsk('GET /orgs/{org}/org/roles/{id}', { path: { org, id } })
  const r = role.data?.role
  return (
    <Page title={r?.name ?? id} lead={<><Id of={id} />{r?.description && <> · <Name of={r.description} /></>}</>} full={tab === 'grants'}>
      {role.error ? <Failed of={role.error} retry={() => void role.refetch()} /> : null}
      {role.error && !r ? null : (
        <>
          <Tabs label={t.person.views} to="/orgs/$org/roles/$id" org={org} id={id} tabs={[['keys', t.roles.keys], ['grants', t.places.grants], ['change', text.change]]} />
          {tab === 'grants' ? <Granted org={org} id={id} /> : !r ? <Waiting /> : tab === 'change' ? <Change key={r.id} org={org} role={r} /> : <Keys role={r} />}
        </>
      )}
    </Page>
  )
}

/** What the role's patterns name in the catalogs of today. */
function Keys({ role }: { role: RoleOf }) {
  const words = useVocabulary()
  const policy = role.requestable
  const plain = role.patterns.filter(p => !p.includes('*'))
  const wild = role.patterns.filter(p => p.includes('*'))
  return (
    <div className="columns explained">
      <div className="stack">
        <section className="card">
          <header><h2>{t.roles.patternsAndKeys}</h2><span className="small dim">{t.roles.counted(role.patterns.length)}</span></header>
          <ul className="list keys">
            {plain.map(pattern => <li key={pattern}><Line leaf={words.data?.byKey.get(pattern)} of={pattern} told={!!words.data} /></li>)}
          </ul>
          {wild.map(pattern => {
            const leaves = words.data ? named(words.data, pattern) : []
            return (
              <div key={pattern} className="keys">
                <h3><Id of={pattern} />{words.data && !pattern.startsWith('cloud.') && <span className={leaves.length ? 'dim' : 'tag mind'}>{t.roles.names(leaves.length)}</span>}</h3>
                <ul className="list keys bounded">{leaves.map(l => <li key={l.key}><Line leaf={l} of={l.key} told /></li>)}</ul>
              </div>
            )
          })}
        </section>
        {role.patterns.length === 0 && <p className="dim">{t.roles.empty}</p>}
      </div>
      <section className="card">
        <header><h2>{t.roles.asking}</h2></header>
        {policy ? (
          <dl className="facts">
            <dt>{t.roles.stages}</dt><dd><ol className="stack tight">{policy.stages.map((s, i) => <li key={i}>{t.stage(s.kind, s.roleId ?? '', s.layers ?? 1)}</li>)}</ol></dd>
            {policy.prompts?.length ? <><dt>{t.roles.questions}</dt><dd><ol className="stack tight">{policy.prompts.map(p => <li key={p.id}><Name of={p.label} /></li>)}</ol></dd></> : null}
            <dt>{t.roles.expiry}</dt><dd>{policy.requireExpiry ? t.yes : t.no}</dd>
            {policy.maxDurationMs ? <><dt>{t.roles.longest}</dt><dd>{t.days(policy.maxDurationMs)}</dd></> : null}
          </dl>
        ) : <p className="dim">{t.roles.notRequestable}</p>}
      </section>
    </div>
  )
}

function Line({ leaf, of, told }: { leaf: Leaf | undefined; of: string; told: boolean }) {
  return (
    <>
      <Id of={of} />
      <span className="row">
        {leaf ? <span className="dim small"><Name of={leaf.description} /></span> : told && !of.startsWith('cloud.') ? <span className="tag mind">{t.roles.names(0)}</span> : null}
        {leaf?.destructive && <span className="tag no">{t.roles.destructive}</span>}
      </span>
    </>
  )
}

/** Who was given the role: at the org root, and in each application. */
function Granted({ org, id }: { org: string; id: string }) {
  const navigate = useNavigate({ from: '/orgs/$org/roles/$id' })
  const { home = '' } = useSearch({ from: '/signed-in/orgs/$org/roles/$id' })
  const me = useMe()
  const apps = useAsk('GET /orgs/{org}/applications', { path: { org }, query: { limit: 200 } }, { on: holds(me.data, 'cloud.applications.read') === 'yes' })
  const root = usePages('GET /orgs/{org}/org/grants', { path: { org }, query: { roleId: id } }, p => p.grants as Grant[], { on: home === '' })
  const app = usePages('GET /orgs/{org}/applications/{app}/grants', { path: { org, app: home }, query: { roleId: id } }, p => p.grants, { on: home !== '' })
  const pages = home ? app : root
  const columns: Array<Column<Grant>> = [
    { id: 'subject', title: t.grants.subject, width: 'minmax(0, 1fr)', cell: g => <SubjectLink org={org} of={g.subject} /> },
    { id: 'scope', title: t.grants.scope, width: 'minmax(0, 1fr)', cell: g => <ScopeName of={g.scope} /> },
    { id: 'until', title: t.grants.until, width: '112px', cell: g => <Until at={g.expiresAt} /> },
  ]
  return (
    <>
      <div className="chips" role="group" aria-label={t.grants.home}>
        <button type="button" className="chip" aria-pressed={home === ''} onClick={() => void navigate({ search: old => ({ ...old, home: undefined }) })}>{t.grants.everywhereRows}</button>
        {apps.data?.applications.filter(a => a.state !== 'registered').map(a => (
          <button key={a.id} type="button" className="chip" aria-pressed={home === a.id} onClick={() => void navigate({ search: old => ({ ...old, home: a.id }) })}><Name of={a.name} /></button>
        ))}
      </div>
      {pages.error ? <Failed of={pages.error} retry={() => void pages.refetch()} /> : !pages.pages ? <Waiting /> : (
        <Grid label={t.places.grants} columns={columns} rowId={g => g.id} {...pages.grid} empty={<Empty title={t.roles.nobody} />} />
      )}
    </>
  )
}
