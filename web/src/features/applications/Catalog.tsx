import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { call } from '../../api/call.ts'
import { isFailure } from '../../api/errors.ts'
import { holds } from '../../api/gates.ts'
import { asking, useAsk, useMe } from '../../api/queries.ts'
import type { Application } from '../../api/schema.gen.ts'
import { type Difference, type Document, differences, type Entry, entriesOf, tree } from '../../domain/documents.ts'
import { apps } from '../../text/applications.ts'
import { t } from '../../text/en.ts'
import { Button } from '../../ui/Button.tsx'
import { Filter } from '../../ui/Filter.tsx'
import { Id, Name } from '../../ui/Id.tsx'
import type { Step } from '../../ui/Plan.tsx'
import { Empty, Waiting } from '../../ui/States.tsx'
import { say } from '../../ui/Toasts.tsx'
import { useSpot } from './Application.tsx'
import { Drift } from './Drift.tsx'
import { reread } from './Overview.tsx'
import { Review, Trouble } from './Review.tsx'

const words = apps.catalog
const key = 'cloud.applications.publish_catalog'
const most = 50 // of each kind, in the review
const internal = 'authz_internal' // the service's own namespace: in every document, and of none

/** What publishing changes: the keys, and whether anything else does. Groups come and go with their keys. */
function changesOf(before: Document | null | undefined, after: Document) {
  const { list, others } = differences(before ?? {}, after)
  const own = list.filter(d => d.id !== internal && !d.id.startsWith(internal + '.'))
  return { keys: own.filter(d => d.kind === 'leaf'), rest: !!before && (others.length > 0 || own.some(d => d.kind !== 'leaf' && !(d.kind === 'group' && d.sign !== '→'))) }
}

/** What the application declares, beside what the registry has of it. */
export function Catalog({ org, of: a }: { org: string; of: Application }) {
  const me = useMe()
  const { search: { act }, set } = useSpot()
  const own = useAsk('GET /orgs/{org}/applications/{app}/catalog', { path: { org, app: a.id } }, { on: a.state !== 'registered' })
  const primary = a.namespaces[0] ?? ''
  const head = useQuery({ ...asking('GET /orgs/{org}/org/catalog', { path: { org } }), select: all => all.namespaces.find(n => n.namespace === primary) ?? null })
  if (a.state === 'registered') return <Empty title={apps.access.notLinked} />
  if (own.error) return <Trouble of={own.error} retry={() => void own.refetch()} />
  if (!own.data) return <Waiting />
  const { published, imports } = own.data
  const lacks = holds(me.data, key, 'cloud.app:' + a.id) === 'yes' ? null : t.needs(key)
  const differs = published && head.data !== undefined ? changesOf(head.data?.document as Document | null, published.document as Document) : null
  const changes = differs?.keys.length ?? 0
  const same = differs !== null && !!head.data?.version && changes === 0 && !differs.rest
  return (
    <>
      {act === 'publish' && published && differs && !same && (
        <Publish org={org} of={a} document={published.document} differs={differs} version={head.data?.version ?? 0} onBack={() => set({ act: undefined })} onOther={() => (void head.refetch(), void own.refetch())} />
      )}
      <div className="columns explained">
        <section className="card stack" aria-label={words.title}>
          <header><h2>{words.title}</h2></header>
          {published ? <Keys of={tree([published.document as Document]).filter(b => b.path !== internal).flatMap(entriesOf)} /> : <Empty title={words.none}><p>{words.noneHint}</p></Empty>}
        </section>
        <div className="stack">
          <section className="card stack" aria-label={words.here}>
            <header><h2>{words.here}</h2></header>
            <dl className="facts">
              <dt>{words.version}</dt><dd>{published?.version ?? '–'}</dd>
              <dt>{words.here}</dt><dd>{head.data?.version ?? words.nothing}</dd>
            </dl>
            {head.error ? <Trouble of={head.error} retry={() => void head.refetch()} /> : null}
            {differs && <p><span className={same ? 'tag yes' : 'tag mind'}>{same ? words.same : !head.data?.version ? words.newHere : changes ? words.differs(changes) : words.others}</span></p>}
            <div className="row"><Button kind="main" reason={lacks ?? (!published ? words.none : same ? words.unchanged : null)} onPress={() => set({ act: 'publish' }, false)}>{words.review}</Button></div>
          </section>
          <Drift org={org} application={a.id} />
          <section className="card stack close" aria-label={words.imports}>
            <header><h2>{words.imports}</h2></header>
            {imports ? <pre className="json bounded" tabIndex={0} aria-label={words.imports}>{JSON.stringify(imports.manifest, null, 2)}</pre> : <p className="dim">{words.noImports}</p>}
          </section>
        </div>
      </div>
    </>
  )
}

function Keys({ of }: { of: Entry[] }) {
  const { search: { q = '' }, set } = useSpot()
  const found = of.filter(l => (l.key + ' ' + l.description).toLowerCase().includes(q.toLowerCase()))
  return (
    <>
      <div className="filters"><Filter first label={words.find} value={q} onChange={q => set({ q: q || undefined })} /><span className="dim small" role="status">{words.keys(found.length)}</span></div>
      {found.length === 0 && <p className="dim">{words.hidden}</p>}
      <ul className="list keys tall" tabIndex={0} aria-label={words.title}>
        {found.map(l => (
          <li key={l.key}>
            <span className="grow"><Id of={l.key} /><br /><span className="dim small"><Name of={l.description} /></span></span>
            <span className="row small"><span className="dim">{l.scopes.length ? <>{words.at} <Id of={l.scopes.join(', ')} /></> : words.everywhereOnly}</span>{l.destructive && <span className="tag no">{words.destructive}</span>}{l.condition && <span className="tag">{words.condition}</span>}</span>
          </li>
        ))}
      </ul>
    </>
  )
}

interface Publishing {
  org: string
  of: Application
  document: unknown
  differs: ReturnType<typeof changesOf>
  version: number
  onBack: () => void
  onOther: () => void
}

/** Makes the application's own catalog the registry's newest version, if that is still the one compared with. */
function Publish({ org, of: a, document, differs, version, onBack, onOther }: Publishing) {
  const [first] = useState({ document, differs, version }) // what the reader reviews
  async function publish(key: string) {
    const made = await call('POST /orgs/{org}/applications/{app}/publish', { path: { org, app: a.id }, body: { document: first.document, expectedVersion: first.version } }, { key })
    say(made.unchanged ? words.unchanged : words.done(made.version))
    onBack()
    await reread()
  }
  const d = first.differs
  const signed = (sign: Difference['sign']) => d.keys.filter(k => k.sign === sign)
  const [gone, changed, added] = [signed('−'), signed('→'), signed('+')]
  const steps: Step[] = [
    { sign: '→', text: <>{words.into} {a.namespaces.map(n => <span key={n}><Id of={n} /> </span>)}</> },
    ...gone.slice(0, most).map(k => ({ sign: k.sign, text: <><Id of={k.id} /> {words.drops}</> })),
    ...changed.slice(0, most).map(k => ({ sign: k.sign, text: <><Id of={k.id} /> {words.changes}: {k.members.map(m => words.about[m.name] ?? m.name).join(', ')}</> })),
    ...added.slice(0, most).map(k => ({ sign: k.sign, text: <><Id of={k.id} /> {words.adds}</> })),
    ...(d.rest ? [{ sign: '→' as const, text: words.others }] : []),
  ]
  const cut = Math.max(gone.length, changed.length, added.length) > most
  return (
    <Review
      title={words.publishTitle} steps={steps} submit={words.submit} danger={gone.length > 0} onSure={publish} onBack={onBack}
      about={failed => isFailure(failed, 'version_conflict') && <><span>{words.conflict(Number(failed.fields.currentVersion ?? 0))}</span> <Button small onPress={() => (onOther(), onBack())}>{words.compare}</Button></>}
    >
      {cut && <p className="small dim">{words.first(most)}</p>}
    </Review>
  )
}
