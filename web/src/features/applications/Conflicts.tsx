import type { Conflict } from '../../api/schema.gen.ts'
import { type Choice, facts } from '../../domain/merging.ts'
import { visible } from '../../domain/visible.ts'
import { apps } from '../../text/applications.ts'
import { Field } from '../../ui/Field.tsx'
import { Id } from '../../ui/Id.tsx'

const words = apps.federation
const most = 200 // drawn at once; the rest follow as these are settled

interface Props {
  of: Conflict[]
  choices: Record<string, Choice>
  onChoose: (id: string, choice: Choice) => void
}

/** What the two organizations disagree about, each with the ways to settle it. Nothing is chosen before the reader chooses. */
export function Conflicts({ of, choices, onChoose }: Props) {
  return (
    <section className="stack" aria-label={words.conflicts(of.length)}>
      <h2>{words.conflicts(of.length)}</h2>
      {of.slice(0, most).map(c => <One key={c.id} of={c} choice={choices[c.id]} onChoose={choice => onChoose(c.id, choice)} />)}
      {of.length > most && <p className="dim">{apps.catalog.first(most)}</p>}
    </section>
  )
}

function One({ of: c, choice, onChoose }: { of: Conflict; choice: Choice | undefined; onChoose: (choice: Choice) => void }) {
  const title = words.kinds[c.kind] ?? c.kind
  return (
    <article className="card stack" aria-label={`${title}: ${visible(c.id)}`}>
      <header><h3>{title}</h3><Id of={c.id} /></header>
      <div className="columns">
        {c.kind !== 'reporting_cycle' && (['current', 'incoming'] as const).map(side => (
          c.kind !== 'widens' || c[side] ? <Side key={side} title={words[side]} of={c[side]} /> : null
        ))}
      </div>
      {(c.path || c.beyond || c.narrowed) && (
        <dl className="facts">
          {c.path && <><dt>{words.path}</dt><dd><Id of={c.path.join(' → ')} /></dd></>}
          {c.beyond && <><dt>{words.beyond}</dt><dd><Id of={c.beyond.join(', ')} /></dd></>}
          {c.narrowed && <><dt>{words.leaves}</dt><dd><Id of={c.narrowed.join(', ') || words.nothingLeft} /></dd></>}
        </dl>
      )}
      {c.blocked?.map(b => <p className="dim small" key={b.action + b.application + b.reason}>{words.blocked(b.action === 'rename_current', visible(b.application), b.count, words.blocking[b.reason] ?? b.reason)}</p>)}
      {c.actions.length === 0 ? <p>{words.noAction}</p> : (
        <fieldset className="choice down">
          <legend className="label">{words.decide}</legend>
          {c.actions.map(action => (
            <label key={action}><input type="radio" name={c.id} checked={choice?.action === action} onChange={() => onChoose({ action })} /> {words.actions[action] ?? action}</label>
          ))}
        </fieldset>
      )}
      {choice && <More of={c} choice={choice} onChoose={onChoose} />}
    </article>
  )
}

/** What an action needs beside its name. */
function More({ of: c, choice, onChoose }: { of: Conflict; choice: Choice; onChoose: (choice: Choice) => void }) {
  if (choice.action.startsWith('rename_')) {
    return <div className="measure"><Field label={words.newId}>{a => <input {...a} className="mono" value={choice.newId ?? ''} onChange={e => onChoose({ ...choice, newId: e.target.value })} required autoComplete="off" autoCapitalize="none" spellCheck={false} />}</Field></div>
  }
  if (choice.action !== 'choose') return null
  const cycle = c.kind === 'reporting_cycle'
  const people = cycle ? [...new Set(c.path ?? [])] : [c.current, c.incoming].filter((m): m is string => typeof m === 'string')
  const value = cycle ? choice.userId : choice.managerUserId
  return (
    <fieldset className="choice down">
      <legend className="label">{cycle ? words.edge : words.manager}</legend>
      {people.map(p => <label key={p}><input type="radio" name={c.id + ' who'} checked={value === p} onChange={() => onChoose(cycle ? { ...choice, userId: p } : { ...choice, managerUserId: p })} /> <Id of={p} /></label>)}
      {!cycle && <label><input type="radio" name={c.id + ' who'} checked={value === ''} onChange={() => onChoose({ ...choice, managerUserId: '' })} /> {words.noManager}</label>}
    </fieldset>
  )
}

function Side({ title, of }: { title: string; of: unknown }) {
  const list = facts(of)
  return (
    <div className="stack tight">
      <h4 className="label">{title}</h4>
      {of === null || of === undefined ? <p className="dim">{words.named}</p> : <dl className="facts">{list.map(([k, v]) => <div className="pair" key={k}><dt>{words.facts[k] ?? visible(k)}</dt><dd><Id of={v} /></dd></div>)}</dl>}
    </div>
  )
}
