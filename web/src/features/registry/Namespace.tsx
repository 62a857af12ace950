import { useNavigate, useParams, useSearch } from '@tanstack/react-router'
import { useAsk } from '../../api/queries.ts'
import type { Namespace as NamespaceOf, Version } from '../../api/schema.gen.ts'
import { registry as t } from '../../text/registry.ts'
import { Id, Name, number, Time } from '../../ui/Id.tsx'
import { Page } from '../../ui/Page.tsx'
import { Loaded } from '../../ui/States.tsx'
import { Compare } from './Compare.tsx'

const few = 200

/** One namespace: its versions, what is gone, and two of them compared. */
export function Namespace() {
  const { org, ns } = useParams({ from: '/signed-in/orgs/$org/registry/$ns' })
  const search = useSearch({ from: '/signed-in/orgs/$org/registry/$ns' })
  const navigate = useNavigate({ from: '/orgs/$org/registry/$ns' })
  const one = useAsk('GET /orgs/{org}/registry/{ns}', { path: { org, ns } })
  const set = (next: { from?: string; to?: string }) => void navigate({ search: old => ({ ...old, ...next }), replace: true })
  return (
    <Page title={ns} lead={one.data?.application && <>{t.application} <Name of={one.data.application} /></>}>
      <Loaded of={one}>
        {n => {
          const known = n.versions.map(v => v.version)
          const to = known.find(v => String(v) === search.to) ?? known.at(-1)
          const from = known.find(v => String(v) === search.from) ?? known.at(-2)
          return (
            <div className="stack">
              {to !== undefined && from !== undefined ? (
                <section className="card stack close" aria-label={t.compare}>
                  <header className="row">
                    <h2>{t.compare}</h2>
                    <div className="filters">
                      <Chosen label={t.from} value={from} of={n.versions} onChange={from => set({ from })} />
                      <Chosen label={t.to} value={to} of={n.versions} onChange={to => set({ to })} />
                    </div>
                  </header>
                  <Compare key={`${from} ${to}`} org={org} ns={ns} from={from} to={to} />
                </section>
              ) : to !== undefined && <p className="dim">{t.one}</p>}
              <div className="columns">
                <Versions of={n} />
                <Tombstones of={n} />
              </div>
            </div>
          )
        }}
      </Loaded>
    </Page>
  )
}

function Chosen({ label, value, of, onChange }: { label: string; value: number; of: Version[]; onChange: (value: string) => void }) {
  return (
    <label className="row"><span className="dim">{label}</span>
      <select className="input" value={value} onChange={e => onChange(e.target.value)}>{of.toReversed().map(v => <option key={v.version} value={v.version}>{v.version}</option>)}</select>
    </label>
  )
}

function Versions({ of }: { of: NamespaceOf }) {
  return (
    <section className="card" aria-label={t.versions}>
      <header><h2>{t.versions}</h2></header>
      {of.versions.length === 0 && <p className="dim">{t.noVersions}</p>}
      <ul className="list bounded" tabIndex={0} aria-label={t.versions}>
        {of.versions.toReversed().slice(0, few).map(v => (
          <li key={v.version}>
            <span className="grow"><strong>{t.version} {number.format(v.version)}</strong><br /><span className="small dim"><Time at={v.publishedAt} /> {t.by} <Name of={t.publisher(v.publisher)} /></span></span>
            <span className="row">{v.addedKeys.length > 0 && <span className="tag yes">{t.added(v.addedKeys.length)}</span>}{v.tombstonedKeys.length > 0 && <span className="tag mind">{t.tombstoned(v.tombstonedKeys.length)}</span>}</span>
          </li>
        ))}
      </ul>
      {of.versions.length > few && <p className="small dim">{t.first(few)}</p>}
    </section>
  )
}

function Tombstones({ of }: { of: NamespaceOf }) {
  return (
    <section className="card" aria-label={t.tombstones}>
      <header><h2>{t.tombstones}</h2></header>
      {of.tombstones.length === 0 ? <p className="dim">{t.noTombstones}</p> : <p className="small dim">{t.tombstonesHint}</p>}
      <ul className="list keys bounded" tabIndex={0} aria-label={t.tombstones}>
        {of.tombstones.slice(0, few).map(k => <li key={k.key}><Id of={k.key} /><span className="small dim">{t.last(k.lastVersion)} · <Time at={k.tombstonedAt} date /></span></li>)}
      </ul>
      {of.tombstones.length > few && <p className="small dim">{t.first(few)}</p>}
    </section>
  )
}
