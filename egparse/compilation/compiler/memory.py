"""Memory management of compiled kernels, in the place of numba's runtime (NRT).

A kernel that makes an array allocates a block with a header, counts its references and frees the
block with the last one. Blocks never leave the call that made them (results are copied), so they
belong to one thread and counting need not be atomic. The header is numba's ``MemInfo``:

    { references, destructor, its argument, data, size }
"""

from __future__ import annotations

RUNTIME = """
declare ptr @malloc(i64)
declare void @free(ptr)

define linkonce_odr noalias ptr @egparse_allocate(i64 %size, i64 %align) {
  ; the header, then the data at the next multiple of the alignment
  %room0 = add i64 %size, 40
  %room = add i64 %room0, %align
  %block = call ptr @malloc(i64 %room)
  %failed = icmp eq ptr %block, null
  br i1 %failed, label %none, label %found
none:
  ret ptr null
found:
  %address = ptrtoint ptr %block to i64
  %after = add i64 %address, 39
  %beyond = add i64 %after, %align
  %rest = urem i64 %beyond, %align
  %start = sub i64 %beyond, %rest
  %data = inttoptr i64 %start to ptr
  store i64 1, ptr %block
  %destructor_at = getelementptr i8, ptr %block, i64 8
  store ptr null, ptr %destructor_at
  %argument_at = getelementptr i8, ptr %block, i64 16
  store ptr null, ptr %argument_at
  %data_at = getelementptr i8, ptr %block, i64 24
  store ptr %data, ptr %data_at
  %size_at = getelementptr i8, ptr %block, i64 32
  store i64 %size, ptr %size_at
  ret ptr %block
}

define linkonce_odr noalias ptr @NRT_MemInfo_alloc_aligned(i64 %size, i32 %align) {
  %wide = zext i32 %align to i64
  %block = call ptr @egparse_allocate(i64 %size, i64 %wide)
  ret ptr %block
}

define linkonce_odr noalias ptr @NRT_MemInfo_alloc_safe_aligned(i64 %size, i32 %align) {
  %wide = zext i32 %align to i64
  %block = call ptr @egparse_allocate(i64 %size, i64 %wide)
  ret ptr %block
}

define linkonce_odr noalias ptr @NRT_MemInfo_alloc(i64 %size) {
  %block = call ptr @egparse_allocate(i64 %size, i64 16)
  ret ptr %block
}

define linkonce_odr noalias ptr @NRT_Allocate(i64 %size) {
  %block = call ptr @malloc(i64 %size)
  ret ptr %block
}

define linkonce_odr void @NRT_Free(ptr %block) {
  call void @free(ptr %block)
  ret void
}

define linkonce_odr void @NRT_incref(ptr %block) noinline {
  %none = icmp eq ptr %block, null
  br i1 %none, label %done, label %count
count:
  %before = load i64, ptr %block
  %after = add i64 %before, 1
  store i64 %after, ptr %block
  br label %done
done:
  ret void
}

define linkonce_odr void @NRT_decref(ptr %block) noinline {
  %none = icmp eq ptr %block, null
  br i1 %none, label %done, label %count
count:
  %before = load i64, ptr %block
  %after = sub i64 %before, 1
  store i64 %after, ptr %block
  %last = icmp eq i64 %after, 0
  br i1 %last, label %drop, label %done
drop:
  call void @free(ptr %block)
  br label %done
done:
  ret void
}

define linkonce_odr ptr @NRT_MemInfo_data_fast(ptr %block) {
  %data_at = getelementptr i8, ptr %block, i64 24
  %data = load ptr, ptr %data_at
  ret ptr %data
}

; numba_attempt_nocopy_reshape(axes, shape, strides, new axes, new shape, new strides, item size,
; order): whether an array can be seen in another shape without a copy; here, whether it is
; contiguous by rows, in which case the new strides are written.
define linkonce_odr i32 @numba_attempt_nocopy_reshape(
    i64 %axes, ptr %shape, ptr %strides, i64 %new_axes, ptr %new_shape, ptr %new_strides,
    i64 %item, i32 %order) {
entry:
  br label %check
check:
  %a = phi i64 [ %axes, %entry ], [ %a1, %next ]
  %expected = phi i64 [ %item, %entry ], [ %larger, %next ]
  %checked = icmp eq i64 %a, 0
  br i1 %checked, label %fill, label %axis
axis:
  %a1 = sub i64 %a, 1
  %length_at = getelementptr i64, ptr %shape, i64 %a1
  %length = load i64, ptr %length_at
  %stride_at = getelementptr i64, ptr %strides, i64 %a1
  %stride = load i64, ptr %stride_at
  %larger = mul i64 %expected, %length
  %fits = icmp eq i64 %stride, %expected
  %single = icmp ule i64 %length, 1
  %goes = or i1 %fits, %single
  br i1 %goes, label %next, label %no
next:
  br label %check
no:
  ret i32 0
fill:
  %b = phi i64 [ %new_axes, %check ], [ %b1, %write ]
  %step = phi i64 [ %item, %check ], [ %further, %write ]
  %filled = icmp eq i64 %b, 0
  br i1 %filled, label %yes, label %write
write:
  %b1 = sub i64 %b, 1
  %new_stride_at = getelementptr i64, ptr %new_strides, i64 %b1
  store i64 %step, ptr %new_stride_at
  %new_length_at = getelementptr i64, ptr %new_shape, i64 %b1
  %new_length = load i64, ptr %new_length_at
  %further = mul i64 %step, %new_length
  br label %fill
yes:
  ret i32 1
}
"""
"""The functions of the runtime that numba's code calls, as IR."""
