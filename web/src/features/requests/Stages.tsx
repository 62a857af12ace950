import type { Request, Stage } from '../../api/schema.gen.ts'
import { t } from '../../text/en.ts'
import { Name, Time } from '../../ui/Id.tsx'

type Decided = Pick<Request, 'state' | 'stageIndex' | 'decisions'>

/** The stages of a policy; of a request with what was decided, by whom and when. */
export function Stages({ of }: { of: { stages: Stage[] } & Partial<Decided> }) {
  return (
    <ol className="list">
      {of.stages.map((s, i) => {
        const decisions = of.decisions?.filter(d => d.stageIndex === i) ?? []
        return (
          <li key={i}>
            <span className="grow">
              {i + 1}. <Name of={t.stage(s.kind, s.roleId ?? '', s.layers ?? 1)} />
              {decisions.map(d => (
                <p className="small" key={d.at}>
                  {t.requests.by} {s.kind === 'auto' ? t.requests.rule : <Name of={d.decidedBy} />} · <span className="dim"><Time at={d.at} /></span>
                  {d.note && <q className="block"><Name of={d.note} /></q>}
                </p>
              ))}
            </span>
            {of.state !== undefined && <Mark at={i} of={of as Decided} decision={decisions[0]?.decision} />}
          </li>
        )
      })}
    </ol>
  )
}

function Mark({ at, of: r, decision }: { at: number; of: Decided; decision: string | undefined }) {
  if (decision) return <span className={decision === 'approved' ? 'tag yes' : 'tag no'}>{t.requests.states[decision] ?? decision}</span>
  if (at < r.stageIndex) return <span className="tag">{t.requests.passed}</span>
  if (r.state !== 'pending') return <span className="tag">{t.requests.notReached}</span>
  return at === r.stageIndex ? <span className="tag mind">{t.requests.waits}</span> : <span className="tag">{t.requests.next}</span>
}
