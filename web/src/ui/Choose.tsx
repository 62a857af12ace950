import type { ReactNode } from 'react'
import { ComboBox, Input, Label, ListBox, ListBoxItem, Popover, Text } from 'react-aria-components'
import { visible } from '../domain/visible.ts'

export interface Choice {
  id: string
  note?: string
}

interface Props {
  label: string
  hint?: ReactNode
  value: string
  onChange: (value: string) => void
  choices: Choice[]
  placeholder?: string
  mono?: boolean
  required?: boolean
}

const most = 60

/** A text with suggestions: anything may be typed. */
export function Choose({ label, hint, value, onChange, choices, placeholder, mono, required }: Props) {
  const words = value.toLowerCase().split(/\s+/).filter(Boolean)
  const exact = choices.some(c => c.id === value)
  const matching = choices.filter(c => exact || words.every(w => c.id.toLowerCase().includes(w) || c.note?.toLowerCase().includes(w))).slice(0, most)
  return (
    <ComboBox
      className="field" inputValue={value} onInputChange={onChange} allowsCustomValue menuTrigger="focus" items={matching} isRequired={required}
      selectedKey={exact ? value : null} onSelectionChange={key => key !== null && onChange(String(key))} defaultFilter={() => true}
    >
      <Label>{label}</Label>
      <Input className={mono ? 'mono' : undefined} placeholder={placeholder} autoComplete="off" spellCheck={false} autoCapitalize="none" />
      {hint && <Text slot="description" className="hint">{hint}</Text>}
      <Popover className="popover" offset={4}>
        <ListBox<Choice>>
          {c => (
            <ListBoxItem id={c.id} textValue={c.id} className="option">
              <span className={mono ? 'mono id' : 'id'}>{visible(c.id)}</span>
              {c.note && <span className="dim cut">{visible(c.note)}</span>}
            </ListBoxItem>
          )}
        </ListBox>
      </Popover>
    </ComboBox>
  )
}
