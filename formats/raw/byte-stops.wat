;; Finds the bytes that the run through a JSON string stops at: quote, backslash, `<` and control characters.
;; stops(from, to, out): writes the address of each as a u32 to `out` and gives how many there are. Looks at 16 bytes at
;; once, so 15 bytes behind `to` must be readable.
(module
  (memory (export "memory") 1)
  (func (export "stops") (param $at i32) (param $to i32) (param $out i32) (result i32)
    (local $first i32) (local $mask i32) (local $left i32) (local $bytes v128)
    (local.set $first (local.get $out))
    (block $done
      (loop $chunks
        (br_if $done (i32.ge_u (local.get $at) (local.get $to)))
        (local.set $bytes (v128.load align=1 (local.get $at)))
        (local.set $mask
          (i8x16.bitmask
            (v128.or
              (v128.or
                (i8x16.eq (local.get $bytes) (i8x16.splat (i32.const 34)))
                (i8x16.eq (local.get $bytes) (i8x16.splat (i32.const 92))))
              (v128.or
                (i8x16.eq (local.get $bytes) (i8x16.splat (i32.const 60)))
                (i8x16.lt_u (local.get $bytes) (i8x16.splat (i32.const 32)))))))
        (local.set $left (i32.sub (local.get $to) (local.get $at)))
        (if (i32.lt_u (local.get $left) (i32.const 16))
          (then
            (local.set $mask
              (i32.and (local.get $mask)
                (i32.sub (i32.shl (i32.const 1) (local.get $left)) (i32.const 1))))))
        (block $empty
          (loop $hits
            (br_if $empty (i32.eqz (local.get $mask)))
            (i32.store (local.get $out) (i32.add (local.get $at) (i32.ctz (local.get $mask))))
            (local.set $out (i32.add (local.get $out) (i32.const 4)))
            (local.set $mask (i32.and (local.get $mask) (i32.sub (local.get $mask) (i32.const 1))))
            (br $hits)))
        (local.set $at (i32.add (local.get $at) (i32.const 16)))
        (br $chunks)))
    (i32.shr_u (i32.sub (local.get $out) (local.get $first)) (i32.const 2))))
