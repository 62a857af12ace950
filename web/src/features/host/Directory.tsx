import type { DirectoryEnd, HostDirectory } from '../../api/schema.gen.ts'
import { host as t } from '../../text/host.ts'
import { Name, number, Time } from '../../ui/Id.tsx'
import { State } from './State.tsx'

/** One directory: what runs, what ran, and what is due. */
export function Directory({ of: d }: { of: HostDirectory }) {
  const runs = Object.entries(d.runs).filter(([, n]) => n > 0)
  const named = (result: string) => t.results[result === 'notOrgRoot' ? 'not_org_root' : result] ?? result
  return (
    <section className="card stack close" aria-label={d.name}>
      <header><h3><Name of={d.name} /></h3><State of={d.state} /></header>
      {d.stale && <div className="note mind"><p>{t.stale}</p></div>}
      <dl className="facts">
        <dt>{t.application}</dt><dd><Name of={d.application} /></dd>
        <dt>{t.importer}</dt><dd><Name of={d.importer} /></dd>
        {d.run && <><dt>{t.run}</dt><dd>{t.phases[d.run.phase] ?? d.run.phase}, {t.entries(number.format(d.run.entries), d.run.expected === null ? '' : number.format(d.run.expected))}{d.run.dryRun && `, ${t.dryRun}`}</dd></>}
        <dt>{t.next}</dt><dd>{d.nextAt ? <Time at={d.nextAt} /> : t.noSchedule}</dd>
        <dt>{t.last}</dt><dd><End of={d.last} /></dd>
        <dt>{t.lastSuccess}</dt><dd>{d.lastSuccess ? <Time at={d.lastSuccess.endedAt} /> : t.never}</dd>
        <dt>{t.runs}</dt><dd>{runs.length === 0 ? t.none : runs.map(([result, n]) => `${named(result)} ${number.format(n)}`).join(', ')}</dd>
      </dl>
    </section>
  )
}

function End({ of: e }: { of: DirectoryEnd | null }) {
  if (!e) return <>{t.never}</>
  const n = (v: number) => number.format(v)
  return (
    <>
      <span className={e.result === 'succeeded' ? 'tag yes' : 'tag no'}>{t.results[e.result] ?? e.result}</span> <Time at={e.endedAt} />{e.cause && <span className="dim">, {t.causes[e.cause] ?? e.cause}</span>}
      <p className="small dim">{t.told({ people: n(e.people), groups: n(e.groups), created: n(e.created), deactivated: n(e.deactivated), warnings: n(e.warnings), failures: n(e.failures) })}</p>
    </>
  )
}
