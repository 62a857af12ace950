import type { Explained } from '../../api/schema.gen.ts'
import type { Question, Steps } from '../../domain/explanation.ts'
import { t } from '../../text/en.ts'
import { At, Id, Name, SubjectName } from '../../ui/Id.tsx'

/** The answer as a sentence, and its first reason. */
export function Verdict({ question, explained, steps }: { question: Question; explained: Explained; steps: Steps }) {
  const yes = explained.allowed
  return (
    <section className={yes ? 'verdict yes' : 'verdict no'} aria-label={t.explain.verdict}>
      <span className="sign" aria-hidden="true">
        <svg width="20" height="20" viewBox="0 0 20 20" fill="none" stroke="currentColor" strokeWidth="2.4" strokeLinecap="round" strokeLinejoin="round">
          <path d={yes ? 'M4 10.5 8.2 15 16 5.5' : 'M5 5 15 15M15 5 5 15'} />
        </svg>
      </span>
      <div>
        <h2>
          <SubjectName of={question.subject} /> <strong>{yes ? t.explain.may : t.explain.mayNot}</strong> <Id of={question.key} />{' '}
          {question.scope === '*' ? t.everywhere : <>{t.explain.at} <Id of={question.scope} /></>}.
        </h2>
        <p><Reason question={question} steps={steps} />{explained.requiresCondition && yes && ' ' + t.explain.condition}</p>
      </div>
    </section>
  )
}

/** The first reason, by the row that it lies in where one row does. */
function Reason({ question, steps: { reason, routes: [way], revokes: [revoke] } }: { question: Question; steps: Steps }) {
  if (reason === 'revoked' && revoke) return <>{t.explain.theRevoke} <Id of={revoke.pattern} /> <At of={revoke.scope} /> {t.explain.wins}</>
  if (reason !== 'granted' || !way) return <>{t.explain.reasons[reason]}</>
  const { subject, scope } = way.grant
  return (
    <>
      {way.role ? <>{t.explain.theRole} <Name of={way.role} /></> : <>{t.explain.theGrant} <Id of={way.pattern} /></>} <At of={scope} />
      {subject !== question.subject && <>, {t.explain.givenTo} <SubjectName of={subject} />,</>} {t.explain.givesIt}
    </>
  )
}
