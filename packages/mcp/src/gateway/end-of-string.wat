;; Where a JSON string ends, looked for in blocks of 16 bytes: `node scripts/assemble.mjs` puts this into long-answers.ts.
(module
  ;; The window is the first 64 KiB. Of blocks that begin in it up to 31 bytes stand in the second.
  (memory (export "memory") 2)

  ;; Looks from byte $at of the window, which stands in a string and in no escape, up to $end, which is at most 65536 and not before $at.
  ;; Gives the index of the quote that ends the string; -1 for a control character or an escape that JSON does not have; and -2 - N
  ;; where the bytes before N are in order: the caller calls again with a window that begins at N.
  (func (export "endOfString") (param $at i32) (param $end i32) (result i32)
    (local $quote v128)
    (local $backslash v128)
    (local $lastControl v128)
    (local $block v128)
    (local $second v128)
    (local $found i32)
    (local $code i32)
    (local $digits i32)
    (local.set $quote (i8x16.splat (i32.const 0x22)))
    (local.set $backslash (i8x16.splat (i32.const 0x5c)))
    (local.set $lastControl (i8x16.splat (i32.const 0x1f)))
    (loop $next
      (if (i32.ge_u (local.get $at) (local.get $end))
        (then (return (i32.sub (i32.const -2) (local.get $end)))))
      ;; A bit for each byte of the block that is a quote, a backslash or a control character.
      (local.set $block (v128.load align=1 (local.get $at)))
      (local.set $found
        (i8x16.bitmask
          (v128.or
            (v128.or
              (i8x16.eq (local.get $block) (local.get $quote))
              (i8x16.eq (local.get $block) (local.get $backslash)))
            (i8x16.le_u (local.get $block) (local.get $lastControl)))))
      (if (i32.eqz (local.get $found))
        (then
          (local.set $at (i32.add (local.get $at) (i32.const 16)))
          ;; Where a block has none, many behind it may have none: two at once.
          (loop $two
            (br_if $next (i32.ge_u (local.get $at) (local.get $end)))
            (local.set $block (v128.load align=1 (local.get $at)))
            (local.set $second (v128.load offset=16 align=1 (local.get $at)))
            (br_if $next
              (v128.any_true
                (v128.or
                  (v128.or
                    (v128.or
                      (i8x16.eq (local.get $block) (local.get $quote))
                      (i8x16.eq (local.get $block) (local.get $backslash)))
                    (i8x16.le_u (local.get $block) (local.get $lastControl)))
                  (v128.or
                    (v128.or
                      (i8x16.eq (local.get $second) (local.get $quote))
                      (i8x16.eq (local.get $second) (local.get $backslash)))
                    (i8x16.le_u (local.get $second) (local.get $lastControl))))))
            (local.set $at (i32.add (local.get $at) (i32.const 32)))
            (br $two))))
      (local.set $at (i32.add (local.get $at) (i32.ctz (local.get $found))))
      ;; Behind the end are bytes of an earlier window, which count for nothing.
      (br_if $next (i32.ge_u (local.get $at) (local.get $end)))

      (local.set $code (i32.load8_u (local.get $at)))
      (if (i32.eq (local.get $code) (i32.const 0x22)) (then (return (local.get $at))))
      (if (i32.ne (local.get $code) (i32.const 0x5c)) (then (return (i32.const -1))))
      ;; The longest escape has six bytes, all of which have to be before the end.
      (if (i32.gt_u (i32.add (local.get $at) (i32.const 6)) (local.get $end))
        (then (return (i32.sub (i32.const -2) (local.get $at)))))
      (local.set $code (i32.load8_u offset=1 (local.get $at)))
      (local.set $at (i32.add (local.get $at) (i32.const 2)))
      (br_if $next (i32.eq (local.get $code) (i32.const 0x6e))) ;; n
      (br_if $next (i32.eq (local.get $code) (i32.const 0x22))) ;; "
      (br_if $next (i32.eq (local.get $code) (i32.const 0x5c))) ;; \
      (br_if $next (i32.eq (local.get $code) (i32.const 0x74))) ;; t
      (br_if $next (i32.eq (local.get $code) (i32.const 0x72))) ;; r
      (br_if $next (i32.eq (local.get $code) (i32.const 0x2f))) ;; /
      (br_if $next (i32.eq (local.get $code) (i32.const 0x62))) ;; b
      (br_if $next (i32.eq (local.get $code) (i32.const 0x66))) ;; f
      (if (i32.ne (local.get $code) (i32.const 0x75)) (then (return (i32.const -1)))) ;; u

      (local.set $digits (i32.const 4))
      (loop $digit
        (local.set $code (i32.load8_u (local.get $at)))
        (if (i32.ge_u (i32.sub (local.get $code) (i32.const 0x30)) (i32.const 10))
          (then
            ;; Letters, small or not.
            (if (i32.ge_u (i32.sub (i32.or (local.get $code) (i32.const 0x20)) (i32.const 0x61)) (i32.const 6))
              (then (return (i32.const -1))))))
        (local.set $at (i32.add (local.get $at) (i32.const 1)))
        (local.set $digits (i32.sub (local.get $digits) (i32.const 1)))
        (br_if $digit (local.get $digits)))
      (br $next))
    (unreachable)))
