import { type FocusEvent, type KeyboardEvent, type ReactNode, useState } from 'react'
import { visible } from '../domain/visible.ts'
import { w } from '../text/writes.ts'
import { Button } from './Button.tsx'
import { Choose, type Choice } from './Choose.tsx'
import { Id } from './Id.tsx'

interface Props {
  label: string
  hint?: ReactNode
  value: string[]
  onChange: (value: string[]) => void
  choices: Choice[]
  /** What is typed, to look for suggestions. */
  onType?: (text: string) => void
  note?: (id: string) => ReactNode
  mono?: boolean
}

/** Some ids: each can be taken out, and another be chosen or typed. */
export function Several({ label, hint, value, onChange, choices, onType, note, mono }: Props) {
  const [text, setTyped] = useState('')
  const setText = (now: string) => {
    setTyped(now)
    onType?.(now)
  }
  function add() {
    const id = text.trim()
    if (id && !value.includes(id)) onChange([...value, id])
    setText('')
  }
  // In a form, Enter adds what was typed and sends nothing.
  function onKeyDown(e: KeyboardEvent) {
    if (e.key !== 'Enter' || !text.trim() || (e.target as Element).getAttribute('aria-activedescendant')) return
    e.preventDefault()
    e.stopPropagation()
    add()
  }
  // What was typed and left is in the list, where it is seen, and not forgotten.
  function onBlur(e: FocusEvent) {
    const to = e.relatedTarget
    if (!e.currentTarget.contains(to) && !to?.closest('[role=listbox]')) add()
  }
  return (
    <div className="stack close" role="group" aria-label={label}>
      <div><span className="label">{label}</span>{hint && <p className="small dim">{hint}</p>}</div>
      {value.length ? (
        <ul className="list keys bounded">
          {value.map(id => (
            <li key={id} className="whole">
              <span className="grow"><Id of={id} /></span>
              <span className="row">{note?.(id)}<Button small kind="bare" label={w.removeOne(visible(id))} onPress={() => onChange(value.filter(v => v !== id))}>×</Button></span>
            </li>
          ))}
        </ul>
      ) : <p className="dim">{w.nothingChosen}</p>}
      <div className="row bottom" onKeyDownCapture={onKeyDown} onBlur={onBlur}>
        <div className="grow"><Choose label={w.addOne} value={text} onChange={setText} choices={choices.filter(c => !value.includes(c.id))} mono={mono} /></div>
        <Button onPress={add}>{w.added}</Button>
      </div>
    </div>
  )
}
