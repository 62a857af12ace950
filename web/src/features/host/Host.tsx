import { Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { usePages } from '../../api/queries.ts'
import type { HostPlugin, HostSink, SinkApplication, SinkOutcomes } from '../../api/schema.gen.ts'
import { host as t } from '../../text/host.ts'
import { Button } from '../../ui/Button.tsx'
import { type Column, Grid } from '../../ui/Grid.tsx'
import { Name, number, Time } from '../../ui/Id.tsx'
import { Page } from '../../ui/Page.tsx'
import { Empty, Failed, Waiting } from '../../ui/States.tsx'
import { Directory } from './Directory.tsx'
import { State } from './State.tsx'

const pluginColumns: Array<Column<HostPlugin>> = [
  { id: 'name', title: t.name, width: 'minmax(0, 1fr)', cell: p => <><Name of={p.name} /> {p.needed && <span className="tag" title={t.neededHint}>{t.needed}</span>}</> },
  { id: 'plugin', title: t.plugin, width: 'minmax(0, 1.4fr)', cell: p => <><Name of={p.plugin} /> <span className="dim"><Name of={p.version} /> {p.kinds.map(k => t.kinds[k] ?? k).join(', ')}{p.embedded && `, ${t.embedded}`}</span></> },
  { id: 'state', title: t.state, width: '120px', cell: p => <State of={p.state} /> },
  { id: 'since', title: t.since, width: '150px', least: true, cell: p => <span className="dim"><Time at={p.since} /></span> },
  { id: 'restarts', title: t.restarts, width: '72px', least: true, cell: p => number.format(p.restarts) },
  { id: 'failure', title: t.failure, width: 'minmax(0, 1fr)', least: true, cell: p => (p.lastFailure ? <>{t.failures[p.lastFailure.kind] ?? p.lastFailure.kind} <span className="dim"><Time at={p.lastFailure.at} /></span></> : <span className="dim">{t.none}</span>) },
]

type Queue = SinkApplication & { sink: HostSink }

const zero: SinkOutcomes = { delivered: 0, full: 0, refused: 0, stopped: 0, unavailable: 0, unknown: 0 }
const unused: SinkApplication = { application: '', pending: 0, windows: zero, checks: zero, lastDropped: null }

const dropped = (o: SinkOutcomes) => o.full + o.refused + o.unavailable + o.unknown + o.stopped

const sinkColumns: Array<Column<Queue>> = [
  { id: 'sink', title: t.sink, width: 'minmax(0, 1fr)', cell: q => <><Name of={q.sink.name} /> <span className="dim"><Name of={q.application} /></span></> },
  { id: 'state', title: t.state, width: '120px', cell: q => <State of={q.sink.state} /> },
  { id: 'pending', title: t.pending, width: '72px', cell: q => number.format(q.pending) },
  { id: 'windows', title: t.delivered, width: 'minmax(0, 1fr)', cell: q => <>{number.format(q.windows.delivered)} {dropped(q.windows) > 0 && <span className="tag mind">{number.format(dropped(q.windows))} {t.dropped}</span>}</> },
  { id: 'checks', title: t.checks, width: 'minmax(0, 1fr)', least: true, cell: q => <>{number.format(q.checks.delivered)} {dropped(q.checks) > 0 && <span className="dim">{number.format(dropped(q.checks))} {t.dropped}</span>}</> },
  { id: 'last', title: t.lastDrop, width: 'minmax(0, 1fr)', least: true, cell: q => (q.lastDropped ? <>{t.outcomes[q.lastDropped.outcome] ?? q.lastDropped.outcome} <span className="dim"><Time at={q.lastDropped.at} /></span></> : <span className="dim">{t.none}</span>) },
]

/** What runs in the host, for its operator: of no org, so it stands beside them. */
export function Host() {
  const plugins = usePages('GET /host/plugins', {}, p => p.plugins)
  const sinks = usePages('GET /host/sinks', {}, p => p.sinks)
  const directories = usePages('GET /host/directories', {}, p => p.directories)
  const queues = sinks.list.flatMap(sink => (sink.applications.length ? sink.applications : [unused]).map(a => ({ ...a, sink })))
  return (
    <main id="main">
      <Page title={t.title} lead={t.lead} actions={<Link className="button" to="/">{t.back}</Link>}>
        <Part title={t.plugins} of={plugins} none={t.noPlugins}><Grid label={t.plugins} columns={pluginColumns} rowId={p => p.name} {...plugins.grid} empty={<Empty title={t.noPlugins} />} /></Part>
        <Part title={t.directories} of={directories} none={t.noDirectories}>
          <div className="columns">{directories.list.map(d => <Directory key={d.name} of={d} />)}</div>
          {directories.grid.hasMore && <div><Button onPress={directories.grid.onMore}>{t.more}</Button></div>}
        </Part>
        <Part title={t.sinks} of={sinks} none={t.noSinks}><Grid label={t.sinks} columns={sinkColumns} rowId={q => `${q.sink.name} ${q.application}`} {...sinks.grid} rows={queues} empty={<Empty title={t.noSinks} />} /></Part>
      </Page>
    </main>
  )
}

function Part({ title, of, none, children }: { title: string; of: { error: unknown; pages: unknown[] | undefined; list: unknown[]; refetch: () => unknown }; none: string; children: ReactNode }) {
  return (
    <section className="stack close" aria-label={title}>
      <h2>{title}</h2>
      {of.error ? <Failed of={of.error} retry={() => void of.refetch()} /> : !of.pages ? <Waiting lines={3} /> : of.list.length === 0 ? <p className="dim">{none}</p> : children}
    </section>
  )
}
