// Keys by position: on a keyboard of another script, the key at the position of C types c where a label is expected.

const PUNCTUATION = { Semicolon: [";", ":"], Minus: ["-", "_"] }; // characters of labels other than letters and digits
let otherScript = false; // whether the last letter came from a keyboard of another script

/**
 * The character of a key as on a Latin keyboard, if the keyboard types another script; else its own character. Letters of other
 * scripts and digits of any script map by position; on such a keyboard, so does punctuation at the position of a letter.
 */
export function latinKey(event) {
  const key = event.key, letter = /^Key([A-Z])$/u.exec(event.code ?? "")?.[1], ascii = /^[\x20-\x7e]$/u.test(key);
  if ([...key].length !== 1 && !(letter && /^[^\x00-\x7f]*$/u.test(key))) return key; // one key may type two letters: Arabic لا
  if (/^\p{Nd}$/u.test(key) && !ascii) return /^(?:Digit|Numpad)([0-9])$/u.exec(event.code ?? "")?.[1] ?? key;
  if (letter) {
    if (/^$|\p{L}|\p{M}/u.test(key)) otherScript = !ascii;
    if (ascii && (!otherScript || /[a-z]/iu.test(key))) return key;
    return event.shiftKey ? letter : letter.toLowerCase();
  }
  return ascii ? key : (PUNCTUATION[event.code]?.[event.shiftKey ? 1 : 0] ?? key);
}

/**
 * Make a field for labels or tags read keys by their position. `offered()` returns the offered values: a character that one of them
 * contains is typed unchanged, so that labels in another script can be typed too; so is a colon, which a Greek keyboard has at the position of Q.
 */
export function readByPosition(input, offered) {
  input.addEventListener("keydown", (event) => {
    if (event.isComposing || event.ctrlKey || event.metaKey || event.altKey) return;
    const key = latinKey(event), typed = event.key.toLowerCase();
    if (key === event.key || typed === ":" || offered().some((value) => value.toLowerCase().includes(typed))) return;
    event.preventDefault();
    input.setRangeText(key, input.selectionStart, input.selectionEnd, "end");
    input.dispatchEvent(new Event("input"));
  });
}
