import type { Explained } from '../../api/schema.gen.ts'
import { picture, type Question, steps } from '../../domain/explanation.ts'
import { t } from '../../text/en.ts'
import { PathPicture } from '../../ui/Path.tsx'
import { Chain, Nearest, Ways } from './Lists.tsx'
import { Others } from './Others.tsx'
import { Verdict } from './Verdict.tsx'

/** An explanation: the verdict, its picture, the same as a list, and what lies around it. */
export function Answer({ org, question, explained, own }: { org: string; question: Question; explained: Explained; own?: boolean }) {
  const found = steps(question, explained)
  const shown = found.routes.length > 0 || found.revokes.length > 0
  const drawing = picture(question, found, t.explain.direct)
  return (
    <div className="stack">
      {explained.notes?.map(n => <div className="note mind" key={n} role="alert"><p>{n}</p></div>)}
      <Verdict question={question} explained={explained} steps={found} />
      {shown && (
        <section className="card drawn" aria-hidden="true">
          <PathPicture picture={drawing} steps={found} />
          {drawing.more > 0 && <p className="small dim">{t.explain.more(drawing.more)}</p>}
        </section>
      )}
      <div className="columns explained">
        <div className="stack">
          <Ways org={org} question={question} steps={found} />
          {!explained.allowed && <Nearest org={org} question={question} steps={found} />}
        </div>
        <div className="stack">
          <Chain steps={found} drawn={shown} />
          {!own && <Others org={org} question={question} />}
        </div>
      </div>
    </div>
  )
}
